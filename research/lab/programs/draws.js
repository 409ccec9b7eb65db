// Writes 64 random bytes for each letter that it reads, until its input ends. It is Node.js in the scenario `sandbox`.
//
//   u  four of crypto.randomUUID()
//   b  crypto.randomBytes
//   m  Math.random, 32 bits at a time
'use strict';

const crypto = require('node:crypto');
const { readSync, writeSync } = require('node:fs');

const uuid = () => crypto.randomUUID().replaceAll('-', '');
const answers = {
  u: () => Buffer.from(uuid() + uuid() + uuid() + uuid(), 'hex'),
  b: () => crypto.randomBytes(64),
  m: () => Uint32Array.from({ length: 16 }, () => Math.random() * 2 ** 32),
};

const letter = Buffer.alloc(1);
while (readSync(0, letter) > 0) writeSync(1, answers[letter.toString()]());
