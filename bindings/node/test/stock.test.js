// squall beside Node's own functions, in what a program sees apart from results: which memory is filled, when a callback
// is called and in which context, and, with `squall/register`, what the replaced properties look like.
'use strict';

const assert = require('node:assert/strict');
const { AsyncLocalStorage, createHook, executionAsyncId, executionAsyncResource } = require('node:async_hooks');
const crypto = require('node:crypto');
const test = require('node:test');
const { promisify } = require('node:util');
const squall = require('squall');
const { outcome, run, written } = require('./helpers.js');

const stock = { ...crypto, getRandomValues: crypto.webcrypto.getRandomValues.bind(crypto.webcrypto) };
const nothing = () => {};
const inNewerNode = parseInt(process.versions.node) >= 24;

function transferred(view) {
  const memory = view.buffer ?? view;
  structuredClone(memory, { transfer: [memory] });
  return view;
}
function shrunk(view) {
  const memory = new ArrayBuffer(16, { maxByteLength: 32 });
  const viewed = view(memory);
  memory.resize(2);
  return viewed;
}
const LOST = {
  'a transferred Uint8Array': () => transferred(new Uint8Array(8)),
  'a transferred Uint16Array': () => transferred(new Uint16Array(8)),
  'a transferred Float32Array': () => transferred(new Float32Array(8)),
  'a transferred DataView': () => transferred(new DataView(new ArrayBuffer(8))),
  'a transferred ArrayBuffer': () => transferred(new ArrayBuffer(8)),
  'a Uint8Array beyond the end': () => shrunk((memory) => new Uint8Array(memory, 4, 8)),
  'a Uint16Array beyond the end': () => shrunk((memory) => new Uint16Array(memory, 4, 2)),
  'a DataView beyond the end': () => shrunk((memory) => new DataView(memory, 4, 2)),
  'a Uint8Array of what is left': () => shrunk((memory) => new Uint8Array(memory)),
  'a shrunk ArrayBuffer': () => shrunk((memory) => memory),
  'a proxy': () => new Proxy(new Uint8Array(8), {}),
  'an object like an array': () => ({ byteLength: 8, byteOffset: 0, buffer: new ArrayBuffer(8) }),
  'an object that inherits from an array': () => Object.create(new Uint8Array(8)),
};
for (const [name, make] of Object.entries(LOST)) {
  test(`${name} is refused, or has no bytes, as in Node's own functions`, () => {
    const calls = [
      ({ randomFillSync }) => randomFillSync(make()),
      ...[0, 1, 2].map((offset) => ({ randomFillSync }) => randomFillSync(make(), offset)),
      ...[0, 1, 2, 3].map((size) => ({ randomFillSync }) => randomFillSync(make(), 0, size)),
      ({ randomFill }) => randomFill(make(), nothing),
      ...[0, 2, 3].map((size) => ({ randomFill }) => randomFill(make(), 0, size, nothing)),
      // Node.js 26 also refuses memory that can shrink.
      ...(/beyond|left/.test(name) ? [] : [({ getRandomValues }) => getRandomValues(make())]),
      // Before version 24, Node.js refused an offset without a size if the memory was no typed array.
      ...(/Array$/.test(name) || inNewerNode ? [({ randomFill }) => randomFill(make(), 0, nothing)] : []),
    ];
    for (const call of calls) assert.deepEqual(outcome(() => call(squall)), outcome(() => call(stock)), `${call}`);
  });
}

// Ways in which an object may tell of another place than its own.
const LIES = { length: 0, byteLength: 0, byteOffset: 8, BYTES_PER_ELEMENT: 4, buffer: new ArrayBuffer(16), [Symbol.toStringTag]: 'x' };
const liesOf = (lies) => Object.fromEntries(Reflect.ownKeys(lies).map((name) => [name, { get: () => lies[name] }]));
const liars = {
  ...Object.fromEntries(Reflect.ownKeys(LIES).map((name) => [`property ${String(name)}`, (of) => Object.defineProperties(of, liesOf({ [name]: LIES[name] }))])),
  'properties that tell of more bytes': (of) => Object.defineProperties(of, liesOf({ length: 99, byteLength: 99 })),
  'class that lies': (of) => Object.setPrototypeOf(of, Object.create(Object.getPrototypeOf(of), liesOf(LIES))),
  'lack of a class': (of) => Object.setPrototypeOf(of, null),
};
for (const [name, lie] of Object.entries(liars)) {
  test(`memory is filled whatever its ${name} tells`, async () => {
    for (const Type of [Uint8Array, Uint16Array, BigInt64Array, Float64Array, DataView, undefined]) {
      const memory = new ArrayBuffer(16);
      const bytes = new Uint8Array(memory);
      const object = lie(Type ? new Type(memory) : memory);
      const fills = [
        () => squall.randomFillSync(object),
        () => squall.randomFillSync(object, 0, 16 / (Type?.BYTES_PER_ELEMENT ?? 1)),
        () => promisify(squall.randomFill)(object),
        () => new squall.Stream(Buffer.alloc(32)).fill(object),
        ...(Type?.name.includes('nt') ? [() => squall.getRandomValues(object)] : []),
      ];
      for (const fill of fills) {
        bytes.fill(0);
        assert.equal(await fill(), object);
        assert.ok(bytes.subarray(0, 8).some((byte) => byte) && bytes.subarray(8).some((byte) => byte), `${Type?.name} ${fill}`);
      }
      assert.throws(() => squall.randomFillSync(object, 0, 17), { code: 'ERR_OUT_OF_RANGE' });
      assert.throws(() => squall.randomFill(object, 17, nothing), { code: 'ERR_OUT_OF_RANGE' });
    }
    assert.throws(() => new squall.Stream(lie(new Uint8Array(16))), { code: 'ERR_OUT_OF_RANGE' });
    assert.equal(new squall.Stream(lie(new Uint8Array(32))).read(16).length, 16);
  });
}

// What hooks and storage show of a request with a callback.
function observe(request) {
  const events = [];
  const note = (event) => (id) => id === requestId && events.push(event);
  let requestId;
  const hook = createHook({
    init(id, type, triggerId) {
      if (type !== 'RANDOMBYTESREQUEST') return;
      requestId = id;
      events.push(`init ${triggerId === executionAsyncId()}`);
    },
    before: note('before'), after: note('after'), destroy: note('destroy'),
  }).enable();
  const storage = new AsyncLocalStorage();
  return new Promise((resolve) => {
    storage.run('store', () => request(function (...args) {
      events.push(executionAsyncId() === requestId, this === executionAsyncResource(), storage.getStore(), args.length, args[0]);
      let turns = 0;
      const look = () => (events.includes('destroy') || ++turns > 1000 ? resolve(events) : setImmediate(look));
      look();
    }));
    events.push('returned');
  }).finally(() => hook.disable());
}

test('hooks and storage see requests with a callback as they see those of Node.js', async () => {
  const requests = [
    ({ randomBytes }) => (callback) => randomBytes(5, callback),
    ({ randomFill }) => (callback) => randomFill(new Uint16Array(5), callback),
    ({ randomFill }) => (callback) => randomFill(new Uint8Array(3 << 20), 1, 2 << 20, callback),
  ];
  for (const request of requests) assert.deepEqual(await observe(request(squall)), await observe(request(stock)));
});

test('an error of a callback is the program\'s, and its request ends', () => {
  const program = (crypto) => `
    const { createHook } = require('node:async_hooks');
    const events = [];
    let first;
    createHook({
      init(id, type) { if (type === 'RANDOMBYTESREQUEST') first ??= id; },
      destroy(id) { if (id === first) events.push('destroy'); },
    }).enable();
    process.on('uncaughtException', ({ message }) => events.push(message));
    process.on('exit', () => console.log(JSON.stringify(events)));
    const { randomBytes, randomInt } = require('${crypto}');
    randomBytes(5, () => { throw new Error('first'); });
    setTimeout(() => randomInt(5, () => { throw new Error('second'); }));`;
  const events = run(program('squall')).sort();
  assert.deepEqual(events, ['destroy', 'first', 'second']);
  assert.deepEqual(events, run(program('node:crypto')).sort());
});

test('requests with a callback draw after they have returned', () => {
  const draws = run(
    `const squall = require('squall');
     const requests = {
       randomBytes: (callback) => squall.randomBytes(5, callback), nothing: (callback) => squall.randomBytes(0, callback),
       randomFill: (callback) => squall.randomFill(new Uint8Array(5), callback), randomInt: (callback) => squall.randomInt(5, callback),
       large: (callback) => squall.randomInt(0, 2 ** 40, callback),
     };
     const seen = {};
     (async () => {
       for (const [name, request] of Object.entries(requests)) {
         const before = globalThis.draws;
         await new Promise((resolve) => {
           request(() => { seen[name].push(globalThis.draws - before); resolve(); });
           seen[name] = [globalThis.draws - before];
         });
       }
       console.log(JSON.stringify(seen));
     })();`,
    { flags: ['--require', require.resolve('./count-draws.js')] },
  );
  assert.deepEqual(new Set(Object.values(draws).map(String)), new Set(['0,1']));
  assert.equal(Object.keys(draws).length, 5);
});

test('without a source of randomness, callbacks get the error and other calls throw it', async () => {
  const codes = run(`
    const native = require(require.resolve('squall/package.json').replace('package.json', 'native.js'));
    const fail = () => { throw Object.assign(new Error(), { code: 'none' }); };
    for (const name of ['fill', 'fillScratch', 'fillWords', 'randomUUID', 'randomUUIDv7']) native[name] = fail;
    const squall = require('squall');
    const codes = [];
    const array = new Uint8Array(8);
    for (const callback of [undefined, (...args) => codes.push(args.length, args[0].code)]) {
      for (const call of [() => squall.randomBytes(8, callback), () => squall.randomInt(5, callback), () => squall.randomInt(2 ** 40, callback)]) {
        try { call() } catch ({ code }) { codes.push(code) }
      }
    }
    for (const call of [() => squall.random(), () => squall.randomUUID(), () => squall.randomUUIDv7(), () => squall.getRandomValues(array), () => squall.randomFillSync(array)]) {
      try { call() } catch ({ code }) { codes.push(code) }
    }
    squall.randomFill(array, (...args) => codes.push(args.length, args[0].code));
    process.on('exit', () => console.log(JSON.stringify(codes)));`);
  assert.deepEqual(codes, [...Array(8).fill('none'), ...Array(4).fill([1, 'none']).flat()]);
});

// Properties that `squall/register` replaces, and the functions in them.
const PROPERTIES = `
  const crypto = require('node:crypto');
  const names = ['randomBytes', 'randomFill', 'randomFillSync', 'randomInt', 'randomUUID', 'randomUUIDv7', 'getRandomValues', 'prng', 'rng', 'pseudoRandomBytes'];
  const places = [...names.map((name) => [crypto, name]), ...['getRandomValues', 'randomUUID'].map((name) => [Object.getPrototypeOf(crypto.webcrypto), name]), [Math, 'random']];
  // Node.js defines the old names at their first use.
  for (const [object, name] of places) object[name];
  const seen = places.filter(([object, name]) => name in object).map(([object, name]) => {
    const property = Object.getOwnPropertyDescriptor(object, name);
    const { name: own, length } = object[name];
    return [name, Object.keys(property), property.enumerable, property.configurable, property.writable, own, length, Object.hasOwn(object[name], 'prototype')];
  });
  console.log(JSON.stringify([Object.keys(crypto), ...seen]));`;

test('squall/register leaves properties and functions as they look in Node.js', () => {
  for (const flags of [[], ['--pending-deprecation']]) {
    assert.deepEqual(run(PROPERTIES, { flags: [...flags, '--require', 'squall/register'] }), run(PROPERTIES, { flags }));
  }
});

test('old names warn with --pending-deprecation, once, as those of Node.js, and not without it', () => {
  const program = `
    const crypto = require('node:crypto');
    const warnings = [];
    process.on('warning', ({ name, code, message }) => warnings.push({ name, code, message }));
    const lengths = ['rng', 'prng', 'pseudoRandomBytes', 'rng'].map((name) => crypto[name](5).length);
    process.on('exit', () => console.log(JSON.stringify([lengths, warnings])));`;
  const [lengths, warnings] = run(program, { flags: ['--no-warnings', '--pending-deprecation', '--require', 'squall/register'] });
  assert.deepEqual([lengths, warnings], run(program, { flags: ['--no-warnings', '--pending-deprecation'] }));
  assert.deepEqual([warnings.length, warnings[0].code], [1, 'DEP0115']);
  assert.deepEqual(run(program, { flags: ['--require', 'squall/register'] }), [lengths, []]);
});

// Which of the replaced functions are squall's, after `freeze` and then the loading of `squall/register`.
const frozen = (freeze) => `
  const crypto = require('node:crypto');
  const squall = require('squall');
  ${freeze};
  let message = null;
  try { require('squall/register') } catch (error) { message = error.message }
  const { randomBytes, randomInt, randomUUID, webcrypto } = crypto;
  const isOwn = [randomBytes, randomInt, randomUUID, Math.random].map((f) => Object.values(squall).includes(f));
  console.log(JSON.stringify([message, [...new Set([...isOwn, /squall/.test(webcrypto.randomUUID)])]]));`;

test('squall/register replaces everything, or nothing if something is frozen', () => {
  assert.deepEqual(run(frozen('')), [null, [true]]);
  const cases = {
    'Math.random': [run(frozen(''), { flags: ['--no-warnings', '--frozen-intrinsics'] }), run(frozen('Object.freeze(Math)'))],
    'crypto.randomBytes, ': [run(frozen('Object.freeze(crypto)')), run(frozen('crypto.prng; Object.freeze(crypto)'))],
    'crypto.randomUUID:': [run(frozen('Object.defineProperty(Object.getPrototypeOf(crypto.webcrypto), "randomUUID", { writable: false, configurable: false })'))],
  };
  for (const [name, results] of Object.entries(cases)) {
    for (const [message, isOwn] of results) {
      assert.deepEqual(isOwn, [false]);
      assert.match(message, /^squall\/register has replaced nothing, because it cannot replace /);
      assert.ok(message.includes(` ${name}`), message);
    }
  }
  // Loaded ahead of the program, it comes before Node.js freezes anything.
  const flags = ['--no-warnings', '--frozen-intrinsics', '--require', 'squall/register'];
  assert.deepEqual(run(frozen(''), { flags }), [null, [true]]);
});
