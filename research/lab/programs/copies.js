// Draws what each line of its input asks for: copies.c in JavaScript, without forks.
'use strict';

const { randomBytes } = require('node:crypto');
const { createInterface } = require('node:readline');
const { writeSync } = require('node:fs');

createInterface({ input: process.stdin }).on('line', (line) => {
  const lengths = line.split(' ').slice(1).map(Number);
  writeSync(1, lengths.map((length) => randomBytes(length).toString('hex')).join(' ') + '\n');
});
