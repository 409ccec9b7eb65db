// Replaces the random functions of node:crypto and of the Web Crypto API, and `Math.random`, by squall's in this
// thread: all of them, or none with an error. Names that a program copied before are not replaced, as by
// `const { randomBytes } = require('crypto')`.
//
//     node --require squall/register app.js
//     node --import squall/register app.js
'use strict';

const crypto = require('node:crypto');
const { syncBuiltinESMExports } = require('node:module');
const { deprecate } = require('node:util');
const squall = require('./index.js');

const { webcrypto } = crypto;
const prototype = Object.getPrototypeOf(webcrypto);
const { getRandomValues, randomUUID } = prototype;

const FUNCTIONS = ['randomBytes', 'randomFill', 'randomFillSync', 'randomInt', 'randomUUID', 'randomUUIDv7'];
// Old names of `randomBytes`.
const OLD_NAMES = ['prng', 'pseudoRandomBytes', 'rng'];
const METHODS = {
  // Called on another object, or without an argument, Node's own method throws.
  getRandomValues: function (typedArray) {
    if (this !== webcrypto || arguments.length === 0) return getRandomValues.apply(this, arguments);
    return squall.getRandomValues(typedArray);
  },
  randomUUID: function () {
    return this === webcrypto ? squall.randomUUID() : randomUUID.call(this);
  },
};
const replacements = [
  ...FUNCTIONS.map((name) => [crypto, name, squall[name]]),
  ...OLD_NAMES.map((name) => [crypto, name]),
  ...Object.entries(METHODS).map(([name, method]) => [prototype, name, method]),
  [Math, 'random', squall.random],
].filter(([object, name]) => Object.hasOwn(object, name));

function isFixed([object, name]) {
  const { configurable, writable } = Object.getOwnPropertyDescriptor(object, name);
  return !configurable && !writable;
}
const fixed = replacements.filter(isFixed).map(([object, name]) => `${object === Math ? 'Math' : 'crypto'}.${name}`);
if (fixed.length > 0) {
  const advice = 'load squall/register with --require, before Node.js or the program freezes objects';
  throw new Error(`squall/register has replaced nothing, because it cannot replace ${fixed.join(', ')}: ${advice}`);
}

// With --pending-deprecation, Node's own old names warn: they are functions of util.deprecate, which inherit from theirs.
const warns = Object.getPrototypeOf(crypto.pseudoRandomBytes) === crypto.randomBytes;
const oldName = (name) => (warns ? deprecate(squall.randomBytes, `crypto.${name} is deprecated.`, 'DEP0115') : squall.randomBytes);
for (const [object, name, value = oldName(name)] of replacements) {
  Object.defineProperty(object, name, { value, writable: true });
}
// In Node.js this property is read-only and calls the method above. In Bun it is a function of its own.
Reflect.set(crypto, 'getRandomValues', squall.getRandomValues);
// Also replaces names that ES modules have imported before, as by `import { randomUUID } from 'node:crypto'`.
syncBuiltinESMExports();
