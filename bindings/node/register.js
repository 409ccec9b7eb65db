// Replaces the random functions of node:crypto and of the Web Crypto API, and `Math.random`, by squall's in this
// thread. Names that a program copied before are not replaced, as by `const { randomBytes } = require('crypto')`.
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
// Old names of `randomBytes`. Node.js defines them as its own `randomBytes` when a program first uses them.
for (const name of ['prng', 'pseudoRandomBytes', 'rng']) {
  Object.defineProperty(crypto, name, { value: squall.randomBytes, configurable: true, writable: true });
}
// In Node.js this property is read-only and calls the method below. In Bun it is a function of its own.
Reflect.set(crypto, 'getRandomValues', squall.getRandomValues);
// Called on another object, or without an argument, Node's own method throws.
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
// Also replaces names that ES modules have imported before, as by `import { randomUUID } from 'node:crypto'`.
syncBuiltinESMExports();
