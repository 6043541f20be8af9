// llama_score MODEL.gguf [BACKENDS]: log-probs of given tokens by llama.cpp. A line on standard input is the length of
// the prompt, then all token ids; a line on standard output has the log-prob of every id behind the prompt.
// BACKENDS is the folder of libggml-cpu*, if they are not found without it.
//
//     cc -O2 -o llama_score llama_score.c -lllama -lggml -lggml-base -lm
#include <ggml-backend.h>
#include <llama.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 1024 }; // tokens of a sequence

static double logprob(const float *logits, int n, int id) {
    double most = logits[0], sum = 0;
    for (int i = 1; i < n; i++) if (logits[i] > most) most = logits[i];
    for (int i = 0; i < n; i++) sum += exp(logits[i] - most);
    return fmin(logits[id] - most - log(sum), 0);
}

int main(int argc, char **argv) {
    if (argc < 2) { fprintf(stderr, "usage: llama_score MODEL.gguf [BACKENDS]\n"); return 2; }
    if (argc > 2) ggml_backend_load_all_from_path(argv[2]); else ggml_backend_load_all();
    llama_backend_init();
    struct llama_model *model = llama_model_load_from_file(argv[1], llama_model_default_params());
    if (!model) { fprintf(stderr, "llama_score: %s cannot be loaded\n", argv[1]); return 1; }
    struct llama_context_params p = llama_context_default_params();
    p.n_ctx = p.n_batch = p.n_ubatch = MOST;
    p.n_threads = p.n_threads_batch = 1;
    p.type_k = p.type_v = GGML_TYPE_F32;                   // as the presets llama-* declare it
    p.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
    struct llama_context *context = llama_init_from_model(model, p);
    if (!context) { fprintf(stderr, "llama_score: no context\n"); return 1; }
    int vocab = llama_vocab_n_tokens(llama_model_get_vocab(model));
    llama_batch batch = llama_batch_init(MOST, 0, 1);
    char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, stdin) > 0) {
        char *at = line, *end;
        long prompt = strtol(at, &at, 10), id;
        int n = 0;
        for (; n < MOST && (id = strtol(at, &end, 10), end != at); at = end, n++) {
            batch.token[n] = id;
            batch.pos[n] = n;
            batch.n_seq_id[n] = 1;
            batch.seq_id[n][0] = 0;
            batch.logits[n] = 1;
        }
        batch.n_tokens = n;
        llama_memory_clear(llama_get_memory(context), true);
        if (llama_decode(context, batch)) { fprintf(stderr, "llama_score: decoding failed\n"); return 1; }
        for (int i = prompt; i < n; i++) printf("%.9g ", logprob(llama_get_logits_ith(context, i - 1), vocab, batch.token[i]));
        putchar('\n');
    }
    return 0;
}
