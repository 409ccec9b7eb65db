// Has Node's own names draw from squall, for the rest of this thread's life: those of node:crypto, of the Web Crypto
// API and `Math.random`. What a program copied before, as by `const { randomBytes } = require('crypto')`, stays.
//
//     node --require squall/register app.js
//     node --import squall/register app.js
'use strict';

const crypto = require('node:crypto');
const { syncBuiltinESMExports } = require('node:module');
const squall = require('./index.js');

const { getRandomValues, randomUUID } = Object.getPrototypeOf(crypto.webcrypto);

for (const name of ['randomBytes', 'randomFill', 'randomFillSync', 'randomInt', 'randomUUID', 'randomUUIDv7']) {
  if (name in crypto) crypto[name] = squall[name];
}
// Old names of `randomBytes`, which Node.js makes of its own at their first use.
for (const name of ['prng', 'pseudoRandomBytes', 'rng']) {
  Object.defineProperty(crypto, name, { value: squall.randomBytes, configurable: true, writable: true });
}
// In Node.js it is read-only, and calls the method below; in Bun it is another function.
Reflect.set(crypto, 'getRandomValues', squall.getRandomValues);
// On another object or without an argument, Node's method throws.
Object.assign(Object.getPrototypeOf(crypto.webcrypto), {
  getRandomValues(typedArray) {
    if (this !== crypto.webcrypto || arguments.length === 0) return getRandomValues.apply(this, arguments);
    return squall.getRandomValues(typedArray);
  },
  randomUUID() {
    return this === crypto.webcrypto ? squall.randomUUID() : randomUUID.call(this);
  },
});
Math.random = squall.random;
// What modules have imported before, as by `import { randomUUID } from 'node:crypto'`.
syncBuiltinESMExports();
