// Compares squall with Node's own functions: nanoseconds of a call, in the shortest of many short
// rounds in which they take turns. Other programs make rounds longer, never shorter.
//
//     node bench.js [ROUNDS]
'use strict';

const crypto = require('node:crypto');
const squall = require('squall');

const buffer = Buffer.alloc(1 << 20);
const ids = new Uint8Array(16);
let range = 0;
const nextRange = () => 2 + (range = (range + 7919) % 1000);
const cases = {
  'randomBytes(16)': [() => crypto.randomBytes(16), () => squall.randomBytes(16)],
  'randomBytes(256)': [() => crypto.randomBytes(256), () => squall.randomBytes(256)],
  'randomFillSync, 1 MiB': [() => crypto.randomFillSync(buffer), () => squall.randomFillSync(buffer)],
  'randomUUID, no cache': [() => crypto.randomUUID({ disableEntropyCache: true }), () => squall.randomUUID({ disableEntropyCache: true })],
  'randomUUID()': [() => crypto.randomUUID(), () => squall.randomUUID()],
  'getRandomValues, 16 bytes': [() => crypto.webcrypto.getRandomValues(ids), () => squall.getRandomValues(ids)],
  'randomInt(1000)': [() => crypto.randomInt(1000), () => squall.randomInt(1000)],
  'randomInt, many ranges': [() => crypto.randomInt(nextRange()), () => squall.randomInt(nextRange())],
  'Math.random()': [Math.random, squall.random],
};

// Nanoseconds of one of `calls` calls.
function time(call, calls) {
  const start = process.hrtime.bigint();
  for (let i = 0; i < calls; i++) call();
  return Number(process.hrtime.bigint() - start) / calls;
}

const rounds = Number(process.argv[2] ?? 201);
if (!Number.isInteger(rounds) || rounds < 1) {
  console.error(`bench.js: ${process.argv[2]}: not a number of rounds: give a whole number from 1`);
  process.exit(2);
}

console.log(`Node.js ${process.version}, shortest of ${rounds} rounds, ns of a call`);
console.log(`${''.padEnd(27)}${'Node.js'.padStart(10)}${'squall'.padStart(10)}   times as fast`);
for (const [name, calls] of Object.entries(cases)) {
  // Rounds of about a millisecond, after ten of warming up.
  const counts = calls.map((call) => Math.ceil(1e6 / time(call, Math.ceil(1e7 / time(call, 100)))));
  const times = [[], []];
  for (let round = 0; round < rounds; round++) calls.forEach((call, i) => times[i].push(time(call, counts[i])));
  const [other, own] = times.map((list) => Math.min(...list));
  console.log(`${name.padEnd(27)}${other.toFixed(0).padStart(10)}${own.toFixed(0).padStart(10)}${(other / own).toFixed(1).padStart(11)}`);
}
