// onnx_score.js int8|f32 DIR: log-probs of given tokens by onnxruntime, token by token with a cache of keys and values.
// DIR is a checkpoint in Hugging Face's layout (Mixtral). A line on standard input is the length of the prompt, then all
// token ids; a line on standard output has the log-prob of every id behind the prompt.
//
//     npm install --ignore-scripts onnxruntime-node@1.30.0
//     node onnx_score.js int8 DIR < tokens
//
// int8 is what onnxruntime.quantization.quantize_dynamic writes by default (onnx_quantizer.py, operators/matmul.py,
// gather.py): weights of products and the embedding in int8 with one scale for each tensor, inputs of products
// converted by DynamicQuantizeLinear, MatMulInteger, one multiplication by both scales. The router is left out of it
// (nodes_to_exclude). One token a call, so the scale of a tensor of inputs is that of the token.
const fs = require('fs'), path = require('path'), ort = require('onnxruntime-node');

// Protocol buffers: a field is its number and a value, which is a whole number, bytes, or text.
function varint(n) {
  const out = [];
  for (n = BigInt.asUintN(64, BigInt(n)); n > 127n; n >>= 7n) out.push(Number(n & 127n) | 128);
  return Buffer.from([...out, Number(n)]);
}
const field = (id, v) => typeof v === 'number' ? Buffer.concat([varint(id << 3), varint(v)])
  : Buffer.concat([varint(id << 3 | 2), varint(Buffer.byteLength(v)), Buffer.from(v)]);
const message = (...fields) => Buffer.concat(fields);

const FLOAT = 1, INT8 = 3, INT64 = 7;
const nodes = [], initializers = [];
let names = 0;

function constant(type, dims, data) {
  const name = 'c' + names++;
  initializers.push(field(5, message(...dims.map(d => field(1, d)), field(2, type), field(8, name),
    field(9, Buffer.from(data.buffer, data.byteOffset, data.byteLength)))));
  return name;
}
const scalar = x => constant(FLOAT, [], new Float32Array([x]));
const ids = (...xs) => constant(INT64, [xs.length], BigInt64Array.from(xs.map(BigInt)));

// op adds a node and returns the names of its outputs. Attributes are whole numbers.
function op(type, inputs, outputs = 1, attributes = {}) {
  const out = Array.from({length: outputs}, () => 't' + names++);
  nodes.push(field(1, message(...inputs.map(x => field(1, x)), ...out.map(x => field(2, x)), field(4, type),
    ...Object.entries(attributes).map(([k, v]) => field(5, message(field(1, k), field(3, v), field(20, 2)))))));
  return outputs === 1 ? out[0] : out;
}

function value(name, type, dims) {
  const shape = message(...dims.map(d => field(1, typeof d === 'number' ? field(1, d) : field(2, d))));
  return message(field(1, name), field(2, field(1, message(field(1, type), field(2, shape)))));
}

const [type, dir] = process.argv.slice(2);
if (!dir || !['int8', 'f32'].includes(type)) { console.error('usage: onnx_score.js int8|f32 DIR'); process.exit(2); }
const config = JSON.parse(fs.readFileSync(path.join(dir, 'config.json')));
const file = fs.readFileSync(path.join(dir, 'model.safetensors'));
const headerSize = Number(file.readBigUInt64LE(0)), header = JSON.parse(file.subarray(8, 8 + headerSize));

// weight returns a tensor as it lies in the file, and its shape.
function weight(name) {
  const {dtype, shape, data_offsets: [from, to]} = header[name];
  if (dtype !== 'F32') throw Error(`${name} is ${dtype}`);
  return {shape, data: new Float32Array(file.buffer.slice(file.byteOffset + 8 + headerSize + from, file.byteOffset + 8 + headerSize + to))};
}

// quantized is a tensor in int8 with one scale: its largest magnitude is 127.
function quantized(data, dims) {
  const most = data.reduce((m, x) => Math.max(m, Math.abs(x)), 0);
  const scale = Math.fround(most > 0 ? most * 2 / 254 : 1);
  const even = x => { const r = Math.round(x); return Math.abs(x % 1) === 0.5 && r % 2 !== 0 ? r - 1 : r; };
  return {values: constant(INT8, dims, Int8Array.from(data, x => even(Math.fround(x / scale)))), scale: scalar(scale)};
}

const inputs = new Map(); // a tensor is converted once for all products that read it

// product is x·Wᵀ, W as the file has it: out×in. Several W that read the same x are one matrix, as servers join them.
function product(x, ws, exact = type === 'f32') {
  const parts = [ws].flat().map(weight), inner = parts[0].shape[1], out = parts.reduce((n, w) => n + w.shape[0], 0);
  const rows = parts.flatMap(w => Array.from({length: w.shape[0]}, (_, i) => w.data.subarray(i * inner, (i + 1) * inner)));
  const turned = Float32Array.from({length: inner * out}, (_, i) => rows[i % out][Math.floor(i / out)]);
  if (exact) return op('MatMul', [x, constant(FLOAT, [inner, out], turned)]);
  if (!inputs.has(x)) inputs.set(x, op('DynamicQuantizeLinear', [x], 3));
  const [q, scale, zero] = inputs.get(x), w = quantized(turned, [inner, out]);
  const sums = op('MatMulInteger', [q, w.values, zero, constant(INT8, [], new Int8Array(1))]);
  return op('Mul', [op('Cast', [sums], 1, {to: FLOAT}), op('Mul', [scale, w.scale])]);
}

function norm(x, name) {
  const {shape, data} = weight(name);
  const mean = op('ReduceMean', [op('Mul', [x, x]), ids(-1)], 1, {keepdims: 1});
  const scale = op('Reciprocal', [op('Sqrt', [op('Add', [mean, scalar(config.rms_norm_eps)])])]);
  return op('Mul', [constant(FLOAT, shape, data), op('Mul', [x, scale])]);
}

const width = config.hidden_size, heads = config.num_attention_heads, half = width / heads / 2;
if (config.num_key_value_heads !== heads) throw Error('heads that share keys are not written here');
const split = ids(half, half), byHead = ids(heads, 1, 2 * half), flat = ids(1, width);
const frequencies = Float32Array.from({length: 2 * half}, (_, i) => config.rope_theta ** -(i % half / half));
const angle = op('Mul', ['position', constant(FLOAT, [2 * half], frequencies)]);
const cos = op('Cos', [angle]), sin = op('Sin', [angle]);
function rotary(x) {
  const [a, b] = op('Split', [x, split], 2, {axis: -1});
  const turned = op('Concat', [op('Neg', [b]), a], 1, {axis: -1});
  return op('Add', [op('Mul', [x, cos]), op('Mul', [turned, sin])]);
}

const state = []; // names of each layer's keys and values, before and behind the step
function attention(x, layer) {
  const at = `model.layers.${layer}.self_attn.`, qkv = product(x, ['q', 'k', 'v'].map(w => at + w + '_proj.weight'));
  const parts = op('Split', [qkv, ids(width, width, width)], 3, {axis: -1}).map(p => op('Reshape', [p, byHead]));
  const q = rotary(parts[0]), k = op('Concat', [`k${layer}`, rotary(parts[1])], 1, {axis: 1});
  const v = op('Concat', [`v${layer}`, parts[2]], 1, {axis: 1});
  state.push([`k${layer}`, k], [`v${layer}`, v]);
  const turned = op('Reshape', [k, ids(heads, -1, 2 * half)]); // heads×keys×size
  const scores = op('Mul', [op('MatMul', [turned, op('Reshape', [q, ids(heads, 2 * half, 1)])]), scalar(1 / Math.sqrt(2 * half))]);
  const p = op('Softmax', [op('Reshape', [scores, ids(heads, 1, -1)])], 1, {axis: -1});
  return product(op('Reshape', [op('MatMul', [p, v]), flat]), at + 'o_proj.weight');
}

function experts(x, layer) {
  const at = `model.layers.${layer}.block_sparse_moe.`, n = config.num_local_experts;
  const p = op('Softmax', [product(x, at + 'gate.weight', true)], 1, {axis: -1});
  const [best, which] = op('TopK', [p, ids(config.num_experts_per_tok)], 2, {axis: -1});
  const gates = op('Div', [best, op('ReduceSum', [best, ids(-1)], 1, {keepdims: 1})]);
  const all = op('ScatterElements', [constant(FLOAT, [1, n], new Float32Array(n)), which, gates], 1, {axis: 1});
  const each = op('Split', [all, ids(...Array(n).fill(1))], n, {axis: -1});
  const outputs = each.map((gate, e) => {
    const w = `${at}experts.${e}.w`, joined = product(x, [w + '1.weight', w + '3.weight']);
    const [g, up] = op('Split', [joined, ids(config.intermediate_size, config.intermediate_size)], 2, {axis: -1});
    const inner = op('Mul', [op('Mul', [g, op('Sigmoid', [g])]), up]);
    return op('Mul', [gate, product(inner, w + '2.weight')]);
  });
  return outputs.reduce((sum, y) => op('Add', [sum, y]));
}

function embedding() {
  const {shape, data} = weight('model.embed_tokens.weight');
  if (type === 'f32') return op('Gather', [constant(FLOAT, shape, data), 'token']);
  const w = quantized(data, shape);
  return op('DequantizeLinear', [op('Gather', [w.values, 'token']), w.scale, constant(INT8, [], new Int8Array(1))]);
}

let x = embedding();
for (let layer = 0; layer < config.num_hidden_layers; layer++) {
  const at = `model.layers.${layer}.`;
  x = op('Add', [x, attention(norm(x, at + 'input_layernorm.weight'), layer)]);
  x = op('Add', [x, experts(norm(x, at + 'post_attention_layernorm.weight'), layer)]);
}
const logits = product(norm(x, 'model.norm.weight'), config.tie_word_embeddings ? 'model.embed_tokens.weight' : 'lm_head.weight');

const past = [heads, 'past', 2 * half], present = [heads, 'present', 2 * half];
const graph = message(...nodes, field(2, 'decoder'), ...initializers,
  field(11, value('token', INT64, [1])), field(11, value('position', FLOAT, [1])), ...state.map(([before]) => field(11, value(before, FLOAT, past))),
  field(12, value(logits, FLOAT, [1, config.vocab_size])), ...state.map(([, behind]) => field(12, value(behind, FLOAT, present))));
const model = message(field(1, 8), field(7, graph), field(8, message(field(1, ''), field(2, 18))));

function logprob(row, id) {
  const most = Math.max(...row);
  return Math.min(row[id] - most - Math.log(row.reduce((s, x) => s + Math.exp(x - most), 0)), 0);
}

(async () => {
  const session = await ort.InferenceSession.create(model, {intraOpNumThreads: 1, interOpNumThreads: 1});
  for (const line of fs.readFileSync(0, 'utf8').trim().split('\n')) {
    const [prompt, ...tokens] = line.trim().split(/\s+/).map(Number), out = [];
    const feeds = Object.fromEntries(state.map(([before]) => [before, new ort.Tensor('float32', new Float32Array(), [heads, 0, 2 * half])]));
    for (let i = 0; i + 1 < tokens.length; i++) {
      feeds.token = new ort.Tensor('int64', [BigInt(tokens[i])], [1]);
      feeds.position = new ort.Tensor('float32', [i], [1]);
      const result = await session.run(feeds);
      for (const [before, behind] of state) feeds[before] = result[behind];
      if (i + 1 >= prompt) out.push(logprob(result[logits].data, tokens[i + 1]).toPrecision(8));
    }
    console.log(out.join(' '));
  }
})();
