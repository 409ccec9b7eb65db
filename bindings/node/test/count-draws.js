// Counts the draws from squall's native module in `globalThis.draws`. Load it before squall.
'use strict';

const path = require('node:path');

const native = require(path.join(path.dirname(require.resolve('squall/package.json')), 'native.js'));

globalThis.draws = 0;
const counted = (draw) => (...args) => {
  globalThis.draws++;
  return draw(...args);
};
for (const name of ['fill', 'fillScratch', 'fillWords', 'randomUUID', 'randomUUIDv7']) native[name] = counted(native[name]);
