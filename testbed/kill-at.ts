import childProcess from 'node:child_process';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/**
 * This module is preloaded into main (`NODE_OPTIONS=--import`). It numbers main's external effects (processes,
 * requests, writes) and kills main with SIGKILL right before effect number RALPH_KILL_AT. With 0 it only writes the
 * names of all effects, one per line, to RALPH_EFFECTS_FILE. A kill after an effect equals a kill before the next one.
 */
const killAt = Number(process.env.RALPH_KILL_AT ?? '');
const effectsFile = process.env.RALPH_EFFECTS_FILE ?? '';

// Only main: post and the programs that main starts inherit the variable as well.
if (process.argv[1]?.endsWith('main.js') === true && effectsFile !== '') {
  const names = fs.openSync(effectsFile, 'a');
  let effects = 0;
  const before = (name: string): void => {
    effects += 1;
    if (killAt === 0) fs.writeSync(names, `${name}\n`);
    if (effects === killAt) process.kill(process.pid, 'SIGKILL');
  };
  const fetchNow = globalThis.fetch;
  globalThis.fetch = (target, options) => {
    before(`request ${options?.method ?? 'GET'} ${new URL(target instanceof Request ? target.url : target).pathname}`);
    return fetchNow(target, options);
  };
  watch(childProcess, ['spawn'], (args) => `process ${describe(args)}`);
  // Appending calls the write function internally.
  watch(fs, ['writeFileSync', 'renameSync'], (args, name) => `${name} ${nameOf(args[0])}`);
  watch(
    fs.promises,
    ['writeFile', 'rename', 'rm', 'mkdir', 'mkdtemp', 'copyFile', 'link'],
    (args, name) => `${name} ${nameOf(args[0])}`,
  );
  syncBuiltinESMExports();

  function watch<Target extends object>(
    target: Target,
    methods: readonly (keyof Target & string)[],
    title: (args: readonly unknown[], name: string) => string,
  ): void {
    for (const name of methods) {
      const original = target[name] as (...args: unknown[]) => unknown;
      Object.assign(target, {
        [name]: (...args: unknown[]): unknown => {
          before(title(args, name));
          return original.apply(target, args);
        },
      });
    }
  }
}

/** Returns a program and its verb, such as `git push`, without the settings and paths between them. */
function describe([file, args]: readonly unknown[]): string {
  const words = Array.isArray(args) ? args.map(String) : [];
  const verb = words.find((word, index) => /^[a-z][a-z-]+$/.test(word) && words[index - 1] !== '-c') ?? '';
  return `${nameOf(file)} ${verb}`.trim();
}

/** Returns the last part of a path, without its unique characters. */
function nameOf(path: unknown): string {
  return (String(path).split('/').at(-1) ?? '').replace(/[A-Za-z0-9]{6}$/, '');
}
