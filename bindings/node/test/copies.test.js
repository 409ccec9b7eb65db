// Copies of the package in one process, as nested node_modules have them.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const test = require('node:test');
const { folder } = require('./helpers.js');

test('any number of copies can be loaded', (t) => {
  const copies = fs.mkdtempSync(path.join(os.tmpdir(), 'squall-'));
  t.after(() => fs.rmSync(copies, { recursive: true }));
  const drawn = Array.from({ length: 8 }, (_, number) => {
    const copy = path.join(copies, `${number}`);
    fs.cpSync(folder, copy, { recursive: true });
    return require(copy).randomBytes(16).toString('hex');
  });
  assert.equal(new Set(drawn).size, 8);
});
