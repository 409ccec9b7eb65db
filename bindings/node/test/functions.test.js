// The functions have the arguments and errors of Node's own, write every byte that was requested and no other, draw once
// for each call, and leave no random bytes behind.
'use strict';

const assert = require('node:assert/strict');
const crypto = require('node:crypto');
const test = require('node:test');
const { promisify } = require('node:util');
const squall = require('squall');
const { outcome, range, run, written } = require('./helpers.js');

const nothing = () => {};
const bytes = () => new Uint8Array(40);
const wrong = [undefined, null, '1', NaN, Infinity, -1, -1.5, 2 ** 31, 2 ** 53, 1n, {}, [], true];
const ARGUMENTS = {
  randomBytes: [...wrong.map((size) => [size]), [0], [1.9], [-0], [64], [65], [5, null], [5, 'callback'], ['5', 'callback']],
  randomFillSync: [
    ...[...wrong, [1], new Array(4)].map((buffer) => [buffer]),
    ...wrong.map((offset) => [bytes(), offset]),
    ...wrong.map((size) => [bytes(), 0, size]),
    [bytes(), 40], [bytes(), 41], [bytes(), 1.7, 2.2], [bytes(), 40, 1], [bytes(), 30, 11], [bytes(), undefined, 41],
    [new Uint32Array(10), 9, 1], [new Uint32Array(10), 9, 2], [new Float64Array(5), 5], [new DataView(new ArrayBuffer(8)), 7, 2],
    [new ArrayBuffer(8), 3], [new SharedArrayBuffer(8)], [new Uint8Array()], [new BigInt64Array(2), 1],
  ],
  randomFill: [
    ...wrong.map((buffer) => [buffer, nothing]),
    ...wrong.map((offset) => [bytes(), offset, nothing]),
    ...wrong.map((size) => [bytes(), 0, size, nothing]),
    [bytes()], [bytes(), 0], [bytes(), 0, 1], [bytes(), 0, 1, 'callback'], ['buffer', 0, 1, 'callback'],
    [bytes(), nothing], [new Uint32Array(10), 9, 2, nothing], [new ArrayBuffer(8), nothing], [new DataView(new ArrayBuffer(8)), nothing],
  ],
  randomInt: [
    ...wrong.map((max) => [max]),
    ...wrong.map((min) => [min, 5]),
    ...wrong.map((callback) => [1, 5, callback]),
    [0], [5, 5], [5, 4], [1.5], [2 ** 48 - 1], [2 ** 48], [-(2 ** 47), 2 ** 47 - 1], [-(2 ** 47), 2 ** 47], [5, nothing], [1, 5, nothing],
    [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER], [1, nothing, 'callback'], [1, undefined, 'callback'],
  ],
  getRandomValues: [
    [], ...wrong.map((array) => [array]),
    [new Float32Array(2)], [new Float64Array(2)], [new DataView(new ArrayBuffer(8))], [new ArrayBuffer(8)],
    [new Uint8Array(65536)], [new Uint8Array(65537)], [new Uint32Array(16385)], [new BigUint64Array(2)], [new Uint8ClampedArray(2)],
  ],
};
ARGUMENTS.randomUUID = [...wrong.map((options) => [options]), ...wrong.map((is) => [{ disableEntropyCache: is }]), [nothing]];
if (crypto.randomUUIDv7) ARGUMENTS.randomUUIDv7 = ARGUMENTS.randomUUID;

for (const [name, list] of Object.entries(ARGUMENTS)) {
  test(`${name} takes and refuses the arguments that Node's own does, with the same errors`, () => {
    const stock = name === 'getRandomValues' ? crypto.webcrypto.getRandomValues.bind(crypto.webcrypto) : crypto[name];
    for (const args of list) {
      assert.deepEqual(outcome(() => squall[name](...args)), outcome(() => stock(...args)), `${name}(${args.map(String)})`);
    }
    assert.equal(squall[name].name, name);
    if (name in crypto) assert.equal(squall[name].length, crypto[name].length);
  });
}

test("a result of Node's function is never returned or passed to a callback", () => {
  const { message, isCalled } = run(`
    require('node:crypto').randomBytes = (size, callback) => { callback(null, 'stock'); return 'stock'; };
    let isCalled = false;
    try {
      require('squall').randomBytes('5', () => { isCalled = true; });
    } catch ({ message }) {
      console.log(JSON.stringify({ message, isCalled }));
    }`);
  assert.match(message, /^squall does not accept these arguments/);
  assert.equal(isCalled, false);
});

for (const length of [1, 8, 63, 64, 65, 1000, 2 ** 20 + 32]) {
  test(`all of ${length} bytes are random, and their memory is theirs alone`, async () => {
    assert.deepEqual(written(() => squall.randomBytes(length)), range(0, length));
    const buffer = squall.randomBytes(length);
    assert.equal(buffer.buffer.byteLength, length);
    const later = await promisify(squall.randomBytes)(length);
    assert.equal(later.length, length);
    if (length > 32) assert.ok([later.subarray(0, 32), later.subarray(-32)].every((end) => end.some((byte) => byte)));
  });
}

test('a fill writes the requested bytes, and no others', async () => {
  const cases = [
    [(buffer) => new Uint8Array(buffer), 3, 5, 3, 8],
    [(buffer) => new Uint8Array(buffer), 3.7, 5.7, 3, 8],
    [(buffer) => new Uint8Array(buffer, 8), 0, undefined, 8, 400],
    [(buffer) => new Uint32Array(buffer, 4, 50), 2, 3, 12, 24],
    [(buffer) => new Uint16Array(buffer, 100, 100), 10, undefined, 120, 300],
    [(buffer) => new DataView(buffer, 10, 20), 1, 2, 11, 13],
    [(buffer) => buffer, 1, 300, 1, 301],
  ];
  for (const Memory of [ArrayBuffer, SharedArrayBuffer]) {
    for (const [view, offset, size, start, end] of cases) {
      const sync = () => {
        const memory = new Memory(400);
        const buffer = view(memory);
        assert.equal(squall.randomFillSync(buffer, offset, size), buffer);
        return new Uint8Array(memory);
      };
      assert.deepEqual(written(sync), range(start, end));
      const memory = new Memory(400);
      const buffer = view(memory);
      assert.equal(await promisify(squall.randomFill)(buffer, offset, ...(size ? [size] : [])), buffer);
      const places = range(0, 400).filter((at) => new Uint8Array(memory)[at]);
      assert.ok(places.length > 0 && places.every((at) => at >= start && at < end));
    }
  }
});

test('getRandomValues fills the whole array and returns it', () => {
  const draw = () => {
    const array = new Uint16Array(new ArrayBuffer(300), 20, 100);
    assert.equal(squall.getRandomValues(array), array);
    return new Uint8Array(array.buffer);
  };
  assert.deepEqual(written(draw), range(20, 220));
});

for (const length of [1, 32, 64, 65, 4096, 3 << 20]) {
  test(`memory of length ${length} that is transferred or shrunk before its fill is an error`, async () => {
    const buffer = new Uint8Array(length);
    const filled = promisify(squall.randomFill)(buffer);
    const transferred = structuredClone(buffer.buffer, { transfer: [buffer.buffer] });
    await assert.rejects(filled, { code: 'ERR_OUT_OF_RANGE' });
    assert.ok(new Uint8Array(transferred).every((byte) => byte === 0));
    const memory = new ArrayBuffer(length, { maxByteLength: 2 * length });
    for (const view of [new Uint8Array(memory), new Uint8Array(memory, 0, length), new DataView(memory), memory]) {
      memory.resize(length);
      const shrunk = promisify(squall.randomFill)(view);
      memory.resize(length - 1);
      await assert.rejects(shrunk, { code: 'ERR_OUT_OF_RANGE' });
    }
  });
}

test('randomInt returns all integers of a range, and no others, also with a callback', async () => {
  const drawn = (...args) => [...new Set(range(0, 400).map(() => squall.randomInt(...args)))].sort((a, b) => a - b);
  assert.deepEqual(drawn(3), [0, 1, 2]);
  assert.deepEqual(drawn(-2, 2), [-2, -1, 0, 1]);
  const wide = range(0, 200).map(() => squall.randomInt(-(2 ** 47), 2 ** 47 - 1));
  assert.ok(wide.every((number) => Number.isInteger(number) && number >= -(2 ** 47) && number < 2 ** 47 - 1));
  assert.ok(wide.some((number) => number < -(2 ** 45)) && wide.some((number) => number > 2 ** 45));
  // Node's function passes `undefined` as the error.
  assert.deepEqual(await new Promise((resolve) => squall.randomInt(5, 6, (...args) => resolve(args))), [undefined, 5]);
});

// What randomInt returns if the first random words make up `bits`, and whether it takes others instead.
const taken = (width, tries) => run(`
  const native = require(require.resolve('squall/package.json').replace('package.json', 'native.js'));
  const words = new DataView(native.scratch);
  const queue = [];
  native.fillWords = () => [0, 4].forEach((at) => words.setUint32(at, queue.shift(), true));
  const { randomInt } = require('squall');
  const split = (bits) => ${width} === 32 ? [bits, 0] : [Math.floor(bits / 2 ** 26) * 32, (bits % 2 ** 26) * 64];
  console.log(JSON.stringify(${JSON.stringify(tries)}.map(([bound, bits]) => {
    queue.splice(0, queue.length, ...split(bits), ...split(${OTHER_BITS}));
    const result = randomInt(bound);
    return [result, queue.length === 0];
  })));`);
const OTHER_BITS = 2 ** 31 + 12345;

test('small integers are unbiased: words that would make some more likely are rejected', () => {
  const bounds = [1, 2, 3, 10, 1000, 2 ** 21 - 1, 2 ** 21];
  // The words around the smallest one that gives each number.
  const tries = bounds.flatMap((bound) =>
    [0, 1, bound >> 1, bound - 1].flatMap((number) => {
      const word = Math.ceil((number * 2 ** 32) / bound);
      return [word - 1, word, word + 1].map((bits) => [bound, bits >>> 0]);
    }),
  );
  const expected = tries.map(([bound, bits]) => {
    const isAgain = (BigInt(bits) * BigInt(bound)) % 2n ** 32n < 2n ** 32n % BigInt(bound);
    return [Number((BigInt(isAgain ? OTHER_BITS : bits) * BigInt(bound)) >> 32n), isAgain];
  });
  assert.deepEqual(taken(32, tries), expected);
  assert.ok(expected.some(([, isAgain]) => isAgain));
});

test('large integers are unbiased: of 2^53, those behind the last complete range are rejected', () => {
  const bounds = [2 ** 21 + 1, 2 ** 31, 2 ** 32 + 15, 10 ** 10, 3 * 2 ** 40, 2 ** 47 + 1, 2 ** 48 - 1];
  const tries = bounds.flatMap((bound) => {
    const end = 2 ** 53 - (2 ** 53 % bound);
    const near = [0, bound - 1, bound, 7 * bound - 1, 7 * bound, end - bound, end - 1, end, end + 1, 2 ** 53 - 1];
    return near.filter((bits) => bits < 2 ** 53).map((bits) => [bound, bits]);
  });
  const expected = tries.map(([bound, bits]) => {
    const isAgain = BigInt(bits) >= 2n ** 53n - (2n ** 53n % BigInt(bound));
    return [(isAgain ? OTHER_BITS : bits) % bound, isAgain];
  });
  assert.deepEqual(taken(53, tries), expected);
  assert.ok(expected.some(([, isAgain]) => isAgain));
});

test('random returns numbers below 1 with 53 bits, all of which vary', () => {
  let ones = 0n;
  let zeros = 0n;
  for (let i = 0; i < 300; i++) {
    const number = squall.random();
    assert.ok(number >= 0 && number < 1);
    const word = BigInt(number * 2 ** 53);
    ones |= word;
    zeros |= ~word;
  }
  assert.equal(ones, 2n ** 53n - 1n);
  assert.equal(BigInt.asUintN(53, zeros), 2n ** 53n - 1n);
});

for (const [name, version, head] of [['randomUUID', 4, ''], ['randomUUIDv7', 7, '01234567-89ab']]) {
  test(`UUIDs are of version ${version}, and all other digits vary`, (t) => {
    t.mock.method(Date, 'now', () => 0x0123456789ab);
    const digits = range(0, 36).map(() => new Set());
    for (let i = 0; i < 400; i++) [...squall[name]()].forEach((digit, at) => digits[at].add(digit));
    const expected = Array.from(`********-****-${version}***-v***-************`, (digit) => ({ '*': '0123456789abcdef', v: '89ab' })[digit] ?? digit);
    assert.deepEqual(digits.map((set) => [...set].sort().join('')), [...head, ...expected.slice(head.length)]);
  });
}

test('each call draws from squall, and leaves zeros in the scratch memory', () => {
  const { draws, dirty, left } = run(`
    const native = require(require.resolve('squall/package.json').replace('package.json', 'native.js'));
    const scratch = new Uint8Array(native.scratch);
    let count = 0, dirty = 0;
    for (const name of ['fill', 'fillScratch', 'fillWords', 'randomUUID', 'randomUUIDv7']) {
      const draw = native[name];
      native[name] = (...args) => {
        count++;
        const result = draw(...args);
        dirty += scratch.some((byte) => byte);
        return result;
      };
    }
    const squall = require('squall');
    const draws = {}, left = {};
    const array = new Uint8Array(16);
    const calls = {
      randomBytes: () => squall.randomBytes(16), long: () => squall.randomBytes(100), randomFillSync: () => squall.randomFillSync(array),
      randomInt: () => squall.randomInt(10), large: () => squall.randomInt(2 ** 22), randomUUID: () => squall.randomUUID(), randomUUIDv7: () => squall.randomUUIDv7(), random: () => squall.random(),
      getRandomValues: () => squall.getRandomValues(array),
    };
    for (const [name, call] of Object.entries(calls)) {
      count = 0;
      for (let i = 0; i < 300; i++) call();
      draws[name] = count;
      left[name] = scratch.some((byte) => byte);
    }
    console.log(JSON.stringify({ draws, dirty, left }));`);
  assert.deepEqual(new Set(Object.values(draws)), new Set([300]));
  // The control: the memory was not zero in between.
  assert.ok(dirty > 1000);
  assert.deepEqual(new Set(Object.values(left)), new Set([false]));
});
