// squall for Node.js: the random functions of node:crypto and of the Web Crypto API, with the same arguments, results
// and errors, a seeded stream, the status of the generator, and notifications of clones of the machine.
//
// Every call draws from squall, which checks that its state is still unique. No random byte is kept for a later call.
// Arguments that squall does not accept are passed to Node's own function, which throws its error. If Node's function
// returns instead, squall throws.
'use strict';

const { AsyncResource } = require('node:async_hooks');
const crypto = require('node:crypto');
const { EventEmitter } = require('node:events');
const { setImmediate } = require('node:timers');
const { isAnyArrayBuffer, isArrayBuffer, isArrayBufferView, isDataView, isTypedArray, isUint8Array } = require('node:util').types;
const native = require('./native.js');

// Node's own functions, before `squall/register` replaces them.
const stock = {
  randomBytes: crypto.randomBytes,
  randomFill: crypto.randomFill,
  randomFillSync: crypto.randomFillSync,
  randomInt: crypto.randomInt,
  randomUUID: crypto.randomUUID,
  // New in Node.js 24. Before, `randomUUID` throws the same errors.
  randomUUIDv7: crypto.randomUUIDv7 ?? crypto.randomUUID,
  getRandomValues: crypto.webcrypto.getRandomValues.bind(crypto.webcrypto),
};

// Limits of node:crypto: the longest request, and the largest range of a random integer.
const MAX_LENGTH = 2 ** 31 - 1;
const MAX_RANGE = 2 ** 48 - 1;
// The longest request of the Web Crypto API, in bytes.
const MAX_QUOTA = 65536;
// Bytes that a request with a callback generates in one turn of the event loop. It takes about 0.1 ms.
const BYTES_PER_TURN = 2 ** 20;

// Short results go through this memory, which is zero between calls.
const scratch = new Uint8Array(native.scratch);
const words = new Uint32Array(native.scratch, 0, 2);
const { fillScratch, fillWords } = native;

// The engine's own getters, as functions: properties of an object and of its class may tell something else.
const getter = (prototype, name) => Function.call.bind(Object.getOwnPropertyDescriptor(prototype, name).get);
const placeOf = (prototype) => ['buffer', 'byteOffset', 'byteLength'].map((name) => getter(prototype, name));
const TYPED_ARRAY = Object.getPrototypeOf(Uint8Array.prototype);
const placeOfTypedArray = placeOf(TYPED_ARRAY);
const placeOfDataView = placeOf(DataView.prototype);
const lengthOf = getter(TYPED_ARRAY, 'length');
const lengthOfBuffer = getter(ArrayBuffer.prototype, 'byteLength');
// The name of a typed array's type, also if it is of another realm; undefined for other values.
const typeOf = getter(TYPED_ARRAY, Symbol.toStringTag);

const isFunction = (value) => typeof value === 'function';
const isFunctionOrAbsent = (value) => value === undefined || isFunction(value);

// Throws Node's own error for these arguments. Node's function gets callbacks without effect in place of the caller's.
function refuse(name, ...args) {
  const withoutEffect = (arg) => (isFunction(arg) ? Object.defineProperty(() => {}, 'name', { value: arg.name }) : arg);
  stock[name](...args.map(withoutEffect));
  throw new TypeError(`squall does not accept these arguments of ${name}`);
}

// The memory of an ArrayBuffer or a view, which is empty if it was transferred; undefined for other values. Throws the
// engine's error if a DataView has lost its memory.
function bytesOf(memory) {
  if (isUint8Array(memory)) return memory;
  if (isArrayBufferView(memory)) {
    const [buffer, offset, length] = isDataView(memory) ? placeOfDataView : placeOfTypedArray;
    return length(memory) === 0 ? new Uint8Array() : new Uint8Array(buffer(memory), offset(memory), length(memory));
  }
  if (isArrayBuffer(memory) && lengthOfBuffer(memory) === 0) return new Uint8Array();
  return isAnyArrayBuffer(memory) ? new Uint8Array(memory) : undefined;
}

// The same memory in an object without properties of its own. If they tell of another length, Node's functions may end
// the process.
function plain(memory) {
  if (!isTypedArray(memory)) return bytesOf(memory) ?? memory;
  const TypedArray = globalThis[typeOf(memory)];
  const [buffer, offset] = placeOfTypedArray;
  return lengthOf(memory) === 0 ? new TypedArray() : new TypedArray(buffer(memory), offset(memory), lengthOf(memory));
}

// Converts a count of elements to bytes. Returns NaN if it is more than `most`, or if Node.js refuses it.
function toByteCount(count, elementSize, most) {
  const bytes = typeof count === 'number' ? count * elementSize : NaN;
  return bytes >= 0 && bytes <= Math.min(most, MAX_LENGTH) ? Math.floor(bytes) : NaN;
}

// Returns what to fill: the memory, the first byte and the length in bytes; undefined if Node.js refuses the arguments.
function rangeOf(memory, offset, size) {
  const bytes = bytesOf(memory);
  if (bytes === undefined) return undefined;
  const all = lengthOf(bytes);
  const elementSize = (isTypedArray(memory) && all / lengthOf(memory)) || 1;
  const start = toByteCount(offset, elementSize, all);
  const left = all - start;
  const length = size === undefined ? left : toByteCount(size, elementSize, left);
  return length >= 0 ? [bytes, start, length] : undefined;
}

// Fills `length` bytes, beginning at index `start`, of an array that has as many.
function fill(bytes, start, length) {
  if (length > scratch.length) {
    native.fill(bytes, start, length);
    return;
  }
  fillScratch(length);
  for (let i = 0; i < length; i++) {
    bytes[start + i] = scratch[i];
    scratch[i] = 0;
  }
}

// An integer from 0 to below `range`, each equally likely: D. Lemire, "Fast Random Integer Generation in an Interval"
// (ACM TOMACS 29, 2019), algorithm 5, for words of 32 bits if JavaScript's numbers hold their products.
function below(range) {
  if (range > 2 ** 21) return belowLarge(range);
  for (;;) {
    fillWords();
    const word = words[0];
    words[0] = words[1] = 0;
    const low = Math.imul(word, range) >>> 0;
    if (low >= range || low >= 2 ** 32 % range) return (word * range - low) / 2 ** 32;
  }
}

// The same by division, which takes longer. The quotient is never rounded up to an integer: it is less than 2^32, and
// its distance to the next integer at least 1 / range.
function belowLarge(range) {
  for (;;) {
    const bits = take53Bits();
    const number = bits - Math.floor(bits / range) * range;
    // The last `range` integers below 2^53 may not be complete.
    if (bits - number <= 2 ** 53 - range) return number;
  }
}

function take53Bits() {
  fillWords();
  const bits = (words[0] >>> 5) * 2 ** 26 + (words[1] >>> 6);
  words[0] = words[1] = 0;
  return bits;
}

// Fills in later turns of the event loop, and then calls `callback` with an error, or with null and `result`. It is an
// error if the program has transferred or shrunk the memory by then. Hooks see a resource of the name that Node's has.
function fillLater(bytes, start, length, callback, result) {
  const request = new AsyncResource('RANDOMBYTESREQUEST', { requireManualDestroy: true });
  const finish = (...args) => {
    try {
      request.runInAsyncScope(callback, request, ...args);
    } finally {
      request.emitDestroy();
    }
  };
  const takeTurn = () => {
    const now = Math.min(length, BYTES_PER_TURN);
    try {
      native.fill(bytes, start, now);
    } catch (error) {
      finish(error);
      return;
    }
    start += now;
    length -= now;
    if (length > 0) setImmediate(takeTurn);
    else finish(null, result);
  };
  setImmediate(takeTurn);
}

function randomBytes(size, callback) {
  if (!(typeof size === 'number' && size >= 0 && size <= MAX_LENGTH && isFunctionOrAbsent(callback))) {
    refuse('randomBytes', size, callback);
  }
  size = Math.floor(size);
  // Not from a pool, because `randomBytes(8).buffer` must have these 8 bytes and no others.
  const buffer = size > scratch.length ? Buffer.allocUnsafeSlow(size) : Buffer.alloc(size);
  if (callback === undefined) {
    fill(buffer, 0, size);
    return buffer;
  }
  fillLater(buffer, 0, size, callback, buffer);
}

function randomFillSync(buffer, offset = 0, size) {
  const [bytes, start, length] = rangeOf(buffer, offset, size) ?? refuse('randomFillSync', plain(buffer), offset, size);
  fill(bytes, start, length);
  return buffer;
}

function randomFill(buffer, offset, size, callback) {
  const args = [plain(buffer), offset, size, callback];
  if (isFunction(offset)) [offset, size, callback] = [0, undefined, offset];
  else if (isFunction(size)) [size, callback] = [undefined, size];
  const range = isFunction(callback) ? rangeOf(buffer, offset, size) : undefined;
  const [bytes, start, length] = range ?? refuse('randomFill', ...args);
  fillLater(bytes, start, length, callback, buffer);
}

function randomInt(min, max, callback) {
  if (isFunctionOrAbsent(max)) {
    callback = max;
    max = min;
    min = 0;
  }
  const isRange = Number.isSafeInteger(min) && Number.isSafeInteger(max) && max > min && max - min <= MAX_RANGE;
  if (!(isRange && isFunctionOrAbsent(callback))) refuse('randomInt', ...arguments);
  if (callback === undefined) return min + below(max - min);
  process.nextTick(() => {
    let number;
    try {
      number = min + below(max - min);
    } catch (error) {
      callback(error);
      return;
    }
    callback(undefined, number);
  });
}

function checkOptions(name, options) {
  if (options === undefined) return;
  const isObject = typeof options === 'object' && options !== null && !Array.isArray(options);
  const { disableEntropyCache = false } = isObject ? options : {};
  if (!isObject || typeof disableEntropyCache !== 'boolean') refuse(name, options);
}

function randomUUID(options) {
  checkOptions('randomUUID', options);
  return native.randomUUID();
}

function randomUUIDv7(options) {
  checkOptions('randomUUIDv7', options);
  return native.randomUUIDv7(Date.now());
}

function getRandomValues(typedArray) {
  const isOfIntegers = typeOf(typedArray)?.startsWith('Float') === false;
  const bytes = isOfIntegers ? bytesOf(typedArray) : undefined;
  if (!(isOfIntegers && lengthOf(bytes) <= MAX_QUOTA)) {
    refuse('getRandomValues', ...(isTypedArray(typedArray) ? [plain(typedArray)] : arguments));
  }
  fill(bytes, 0, lengthOf(bytes));
  return typedArray;
}

function check(isValid, ErrorClass, code, message) {
  if (isValid) return;
  throw Object.assign(new ErrorClass(message), { code });
}

// Expands a key to 2^64 reproducible bytes: AES-256 in counter mode from counter 0, as `squall stream --seed` does.
class Stream {
  #keystream;

  constructor(key) {
    const isText = typeof key === 'string';
    check(isText || isUint8Array(key), TypeError, 'ERR_INVALID_ARG_TYPE', 'The key must be a Uint8Array or a string');
    const bytes = isText ? Buffer.from(key.trim(), 'hex') : key;
    try {
      const isValid = lengthOf(bytes) === 32 && (!isText || key.trim().length === 64);
      check(isValid, RangeError, 'ERR_OUT_OF_RANGE', 'The key must be 32 bytes, or 64 hexadecimal digits');
      this.#keystream = new native.Keystream(bytes);
    } finally {
      // The bytes of a text lie in Node's pool, which other buffers share, also if the key was refused.
      if (isText) bytes.fill(0);
    }
  }

  read(size) {
    check(typeof size === 'number', TypeError, 'ERR_INVALID_ARG_TYPE', 'The size must be a number');
    check(size >= 0 && size <= MAX_LENGTH, RangeError, 'ERR_OUT_OF_RANGE', `The size must be from 0 to ${MAX_LENGTH}`);
    return this.fill(Buffer.allocUnsafeSlow(Math.floor(size)));
  }

  fill(buffer) {
    const bytes = bytesOf(buffer);
    check(bytes, TypeError, 'ERR_INVALID_ARG_TYPE', 'The buffer must be an ArrayBuffer or a view');
    check(this.#keystream.fill(bytes), RangeError, 'ERR_OUT_OF_RANGE', 'The stream ends after 2^64 bytes');
    return buffer;
  }

  seek(offset) {
    const isInteger = typeof offset === 'bigint' || typeof offset === 'number';
    check(isInteger, TypeError, 'ERR_INVALID_ARG_TYPE', 'The offset must be a number or a bigint');
    const isInRange = (typeof offset === 'bigint' || Number.isSafeInteger(offset)) && offset >= 0 && offset < 2n ** 64n;
    check(isInRange, RangeError, 'ERR_OUT_OF_RANGE', 'The offset must be an integer from 0 to below 2^64');
    this.#keystream.seek(BigInt(offset));
  }
}

// A multiple of 2^-53 from 0 to below 1.
const random = () => take53Bits() * 2 ** -53;

const status = () => JSON.parse(native.status());

const cloneGeneration = native.cloneGeneration;

// Emits 'clone', with the new generation, whenever the machine may have been cloned, and 'error' if the watch fails.
// The first listener of 'clone' starts the watch. After an error, the next one that is added starts it again.
const clones = new EventEmitter();
let isWatching = false;
clones.on('newListener', (event) => {
  if (event !== 'clone' || isWatching) return;
  native.watchClones((reason) => {
    if (reason === null) {
      clones.emit('clone', cloneGeneration());
      return;
    }
    isWatching = false;
    clones.emit('error', new Error(reason));
  });
  isWatching = true;
});

module.exports = {
  randomBytes,
  randomFill,
  randomFillSync,
  randomInt,
  randomUUID,
  randomUUIDv7,
  getRandomValues,
  random,
  Stream,
  status,
  cloneGeneration,
  clones,
};
