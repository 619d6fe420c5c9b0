#!/usr/bin/env node
// Plain JavaScript for any Node from 18 on: finds a suitable Node and the form of the program that can run here.
import { spawn } from 'node:child_process';
import { accessSync, constants as files, existsSync, realpathSync, statSync } from 'node:fs';
import module, { createRequire } from 'node:module';
import { constants } from 'node:os';
import { dirname, isAbsolute, join, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const here = realpathSync(fileURLToPath(import.meta.url));
const root = dirname(dirname(here));

/** Runs TypeScript sources, and has what the Kubernetes client needs. */
const oldestNode = [22, 19];

function isRecentNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  return major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1]);
}

/** The Node that npm installed as a dependency, if this platform has one. */
function packagedNode() {
  try {
    return createRequire(here).resolve(`node-${process.platform}-${process.arch}/bin/node`);
  } catch {
    const linked = join(root, 'node_modules', '.bin', 'node');
    return existsSync(linked) ? linked : undefined;
  }
}

/** Runs the same command line under another Node and exits with its code. */
function runUnder(node) {
  // Under the name it was called by, which the help repeats.
  const child = spawn(node, [process.argv[1] ?? here, ...process.argv.slice(2)], {
    stdio: 'inherit',
    env: { ...process.env, KCOVER_NODE: node },
  });
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR2']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => fail(`cannot run ${node}: ${error.message}`));
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
}

function fail(because) {
  console.error(
    `error[failed]: kcover cannot start\n  because: ${because}\n  try:     run it with Node ${oldestNode.join('.')} or newer, or npm ci, which brings one`,
  );
  process.exit(1);
}

/** Node runs no TypeScript below node_modules: an installed package runs the built program. */
function programFile() {
  const source = join(root, 'cli', 'main.ts');
  const installed = root.split(sep).includes('node_modules');
  if (!installed && existsSync(source)) return source;
  return join(root, 'dist', 'cli', 'main.js');
}

/** Warnings about type stripping and similar features are of no use to the user of a command. */
function hideExperimentalWarnings() {
  const emitWarning = process.emitWarning;
  process.emitWarning = (warning, ...rest) => {
    const type = typeof rest[0] === 'string' ? rest[0] : rest[0]?.type;
    if (type !== 'ExperimentalWarning') emitWarning.call(process, warning, ...rest);
  };
}

/**
 * Halves the time of a start, from the second one on. Code is read from a directory only if no other user can write there: the user's own cache, of the
 * user that runs this. Without one, nothing is kept.
 */
function keepCompiledCode() {
  const { NODE_COMPILE_CACHE: chosen, XDG_CACHE_HOME: given, HOME: home } = process.env;
  if (chosen) return;
  const caches = given || join(home || '/', '.cache');
  try {
    const { uid, mode } = statSync(caches);
    if (!isAbsolute(caches) || uid !== process.getuid() || (mode & 0o022) !== 0) return;
    accessSync(caches, files.W_OK);
    module.enableCompileCache(join(caches, 'kcover', 'compiled'));
  } catch {
    // It only starts more slowly.
  }
}

if (isRecentNode()) {
  hideExperimentalWarnings();
  keepCompiledCode();
  await import(pathToFileURL(programFile()).href);
} else {
  const node = process.env.KCOVER_NODE === undefined ? packagedNode() : undefined;
  if (node === undefined) fail(`this is Node ${process.versions.node}`);
  else runUnder(node);
}
