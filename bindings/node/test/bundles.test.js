// Bundles and startup snapshots of a program that loads `squall/register`. SQUALL_BUNDLERS is a folder in which npm has
// installed the bundlers.
'use strict';

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const test = require('node:test');

const PROGRAM = `
  require('squall/register');
  console.log(require('node:crypto').randomInt === require('squall').randomInt && !/native code/.test(Math.random));`;
const WEBPACK = `
  const [bundlers, entry, folder] = process.argv.slice(1);
  const rules = [{ test: /[.]node$/, loader: require.resolve('node-loader', { paths: [bundlers] }) }];
  const config = { mode: 'production', target: 'node', entry, output: { path: folder }, module: { rules } };
  require(require.resolve('webpack', { paths: [bundlers] }))(config, (error, stats) => {
    if (error || stats.hasErrors()) throw error ?? new Error(stats.toString());
  });`;
const BUNDLERS = {
  esbuild: (bundlers, program, folder) =>
    [path.join(bundlers, 'node_modules/esbuild/bin/esbuild'), '--bundle', '--platform=node', '--loader:.node=copy', `--outdir=${folder}`, program],
  webpack: (bundlers, program, folder) => ['-e', WEBPACK, bundlers, program, folder],
  ncc: (bundlers, program, folder) => [path.join(bundlers, 'node_modules/@vercel/ncc/dist/ncc/cli.js'), 'build', program, '-o', folder],
};

// Calls `work` with a program in this folder, which finds squall, and an empty folder that does not.
function withProgram(text, work) {
  const [near, far] = [path.join(__dirname, 'run-'), path.join(os.tmpdir(), 'squall-')].map((prefix) => fs.mkdtempSync(prefix));
  try {
    const program = path.join(near, 'program.js');
    fs.writeFileSync(program, text);
    return work(program, far);
  } finally {
    for (const folder of [near, far]) fs.rmSync(folder, { recursive: true });
  }
}

for (const [name, command] of Object.entries(BUNDLERS)) {
  const bundlers = process.env.SQUALL_BUNDLERS;
  test(`a bundle of ${name} draws from squall`, { skip: bundlers ? false : 'bundlers are not installed' }, () => {
    withProgram(PROGRAM, (program, folder) => {
      execFileSync(process.execPath, command(bundlers, program, folder), { stdio: 'pipe' });
      const [bundle] = fs.readdirSync(folder).filter((file) => file.endsWith('.js'));
      assert.equal(execFileSync(process.execPath, [bundle], { cwd: folder, encoding: 'utf8' }), 'true\n');
    });
  });
}

// Runs Node.js with a snapshot in an empty folder: builds it of a program, and then calls `work` with a function that
// starts it, with options.
function withSnapshot(text, work) {
  withProgram(text, (program, folder) => {
    const node = (...args) => {
      const options = { cwd: __dirname, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] };
      return execFileSync(process.execPath, ['--snapshot-blob', path.join(folder, 'blob'), ...args], options);
    };
    work(node('--build-snapshot', program), (...args) => node(...args, 'start'));
  });
}

test('squall draws in a program that starts from a snapshot, if it is loaded ahead with --require', () => {
  const text = `
    const { setDeserializeMainFunction } = require('node:v8').startupSnapshot;
    setDeserializeMainFunction(() => console.log(!/native code/.test(Math.random)));`;
  withSnapshot(text, (built, start) => {
    assert.equal(start('--require', 'squall/register'), 'true\n');
    assert.equal(start(), 'false\n');
  });
});

test('squall refuses to be part of a snapshot', () => {
  const text = `try { require('node:module').createRequire(__filename)('squall') } catch ({ message }) { console.log(message) }`;
  withSnapshot(text, (built) => assert.match(built, /^squall cannot be part of a startup snapshot.*: load it when the program starts/));
});
