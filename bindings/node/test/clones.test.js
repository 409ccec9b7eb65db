// Notifications of clones. No test can clone its machine, so functions of the test stand for the native module.
'use strict';

const assert = require('node:assert/strict');
const test = require('node:test');
const { cloneGeneration } = require('squall');
const { run } = require('./helpers.js');

test('adding a listener throws exactly if clones are unknown; a listener does not keep the process alive', () => {
  const code = run(`
    const { clones } = require('squall');
    let code = null;
    try { clones.on('clone', () => {}) } catch (error) { code = error.code }
    console.log(JSON.stringify(code));`);
  assert.equal(code, cloneGeneration() === null ? 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM' : null);
});

test('one watch serves all listeners, which get the new generation, and an error ends it', () => {
  const events = run(`
    const native = require(require.resolve('squall/package.json').replace('package.json', 'native.js'));
    const events = [], watches = [];
    native.watchClones = (listener) => watches.push(listener);
    native.cloneGeneration = () => 7n;
    const { clones } = require('squall');
    clones.on('other', () => {});
    events.push(watches.length);
    clones.on('clone', (generation) => events.push('first ' + generation));
    clones.once('clone', (generation) => events.push('second ' + generation));
    clones.on('error', ({ message }) => events.push(message));
    events.push(watches.length);
    for (const reason of [null, null, 'reason']) watches[0](reason);
    console.log(JSON.stringify(events));`);
  assert.deepEqual(events, [0, 1, 'first 7', 'second 7', 'first 7', 'reason']);
});
