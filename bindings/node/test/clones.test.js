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

test('one watch serves all listeners, which get the new generation, and an error ends it until a listener is added', () => {
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
    clones.on('clone', (generation) => events.push('third ' + generation));
    clones.on('clone', () => {});
    events.push(watches.length);
    watches[1]?.(null);
    console.log(JSON.stringify(events));`);
  assert.deepEqual(events, [0, 1, 'first 7', 'second 7', 'first 7', 'reason', 2, 'first 7', 'third 7']);
});

test('a listener starts the watch again also after an error that nobody listened to', () => {
  const watches = run(`
    const native = require(require.resolve('squall/package.json').replace('package.json', 'native.js'));
    const watches = [];
    native.watchClones = (listener) => watches.push(listener);
    const { clones } = require('squall');
    clones.on('clone', () => {});
    let message;
    try { watches[0]('reason') } catch (error) { message = error.message }
    clones.on('clone', () => {});
    console.log(JSON.stringify([message, watches.length]));`);
  assert.deepEqual(watches, ['reason', 2]);
});
