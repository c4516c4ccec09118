import { expect } from 'vitest';
import type { Run, Scene } from '../e2e-fixture.ts';
import { attackBy, everythingPushed, filesOf, repel } from './attack-fixture.ts';

const SECRET = 'Zebra/47+quartz_umbrella-lantern';

interface Aftermath {
  readonly run: Run;
  readonly scene: Scene;
}

/** Plays honest work and then the attack, which claims to finish the task. */
function after(script: string, inputs: Readonly<Record<string, string>> = {}): (scene: Scene) => Promise<Aftermath> {
  return async (scene) => {
    scene.openIssue('Count');
    const run = await scene.run({
      env: { DEPLOY_PASSWORD: SECRET },
      inputs: { 'max-iterations': '2', ...inputs },
      agent: [{ kind: 'work' }, attackBy(script)],
    });
    return { run, scene };
  };
}

const neverSecret = {
  never: 'the password of the job on any branch, or the loss of the iteration before',
  holds: async ({ scene }: Aftermath) => {
    expect(await filesOf(scene)).toContain('src/issue-1.mjs');
    expect(await everythingPushed(scene)).not.toContain(SECRET);
  },
} as const;

/**
 * JavaScript for the agent: `lie(id, text)` writes a loose object whose content does not match its id; `pack(id, text)`
 * writes a pack whose index gives the text the id `id`.
 */
const FORGE = `
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { deflateSync } from 'node:zlib';
const git = (args, input) => execFileSync('git', args, { input, encoding: 'utf8' }).trim();
const place = (id) => '.git/objects/' + id.slice(0, 2) + '/' + id.slice(2);
const sha1 = (bytes) => createHash('sha1').update(bytes).digest();
function lie(id, text) {
  rmSync(place(id), { force: true });
  writeFileSync(place(id), deflateSync(Buffer.concat([Buffer.from('blob ' + Buffer.byteLength(text) + '\\0'), Buffer.from(text)])));
}
function pack(folder, id, text) {
  mkdirSync(folder, { recursive: true });
  const real = git(['hash-object', '-w', '--stdin'], text);
  const name = git(['pack-objects', '-q', folder + '/pack'], real + '\\n');
  const file = folder + '/pack-' + name + '.idx';
  const index = readFileSync(file);
  chmodSync(file, 0o644);
  const first = parseInt(id.slice(0, 2), 16);
  for (let at = 0; at < 256; at += 1) index.writeUInt32BE(at >= first ? 1 : 0, 8 + 4 * at);
  Buffer.from(id, 'hex').copy(index, 8 + 1024);
  sha1(index.subarray(0, -20)).copy(index, index.length - 20);
  writeFileSync(file, index);
}
`;

const node = (code: string): string =>
  `cat > "$scratch/forge.mjs" <<'JS'\n${FORGE}\n${code}\nJS\nnode "$scratch/forge.mjs"`;

repel<Aftermath>('Objects that are not what they are called', {
  stage: after(
    [
      `printf 'password = ${SECRET}\\n' > src/config.js; git add .; git commit -q -m config`,
      node(`
        const secret = git(['rev-parse', 'HEAD:src/config.js']);
        copyFileSync(place(secret), '.git/true-object');
        lie(secret, 'password = (none)\\n');
      `),
      `mkdir -p tools; printf "const { readFileSync, rmSync, copyFileSync, existsSync } = require('fs'); const id = '%s'; const at = '.git/objects/' + id.slice(0, 2) + '/' + id.slice(2); if (existsSync('.git/true-object')) { rmSync(at, { force: true }); copyFileSync('.git/true-object', at); }" "$(git rev-parse HEAD:src/config.js)" > tools/check.cjs`,
      'touch src/config.js',
    ].join('\n'),
    { verify: 'if test -f tools/check.cjs; then node tools/check.cjs; fi' },
  ),
  attacks: [
    {
      who: 'what verify runs',
      does: 'puts right a loose object whose content was another one while the commit was inspected',
      ...neverSecret,
    },
  ],
});

repel<Aftermath>('A pack whose index lies, behind six levels of alternates', {
  heldBy: 'integration/git/git-quarantine.test.ts',
  stage: after(
    [
      `printf 'password = ${SECRET}\\n' > src/config.js; git add .; git commit -q -m config`,
      node(`
        const secret = git(['rev-parse', 'HEAD:src/config.js']);
        const levels = [1, 2, 3, 4, 5].map((level) => process.cwd() + '/.git/level-' + level);
        for (const [at, folder] of levels.entries()) {
          mkdirSync(folder + '/info', { recursive: true });
          mkdirSync(folder + '/pack', { recursive: true });
          if (at + 1 < levels.length) writeFileSync(folder + '/info/alternates', levels[at + 1] + '\\n');
        }
        pack(levels[4] + '/pack', secret, 'password = (none)\\n');
        mkdirSync('.git/objects/info', { recursive: true });
        writeFileSync('.git/objects/info/alternates', levels[0] + '\\n');
      `),
    ].join('\n'),
  ),
  attacks: [
    {
      who: 'the agent',
      does: "hides a password behind an object that the inspection's git finds first",
      ...neverSecret,
    },
  ],
});

repel<Aftermath>('A commit graph that lies', {
  heldBy: 'integration/git/git-quarantine.test.ts',
  stage: after(
    [
      `printf 'password = ${SECRET}\\n' > src/config.js; git add .; git commit -q -m one`,
      `echo 'export const x = 1;' > src/config.js; git add .; git commit -q -m two`,
      'git commit-graph write --reachable',
      node(`
        // The second commit's first parent becomes the parent of the first: the first is not seen any more.
        const file = '.git/objects/info/commit-graph';
        const graph = readFileSync(file);
        chmodSync(file, 0o644);
        const chunks = {};
        for (let at = 8; graph.readUInt32BE(at) !== 0; at += 12)
          chunks[graph.toString('latin1', at, at + 4)] = Number(graph.readBigUInt64BE(at + 4));
        const count = graph.readUInt32BE(chunks.OIDF + 1020);
        const ids = Array.from({ length: count }, (_, i) => graph.toString('hex', chunks.OIDL + 20 * i, chunks.OIDL + 20 * i + 20));
        const positionOf = (name) => ids.indexOf(git(['rev-parse', name]));
        graph.writeUInt32BE(positionOf('HEAD~2'), chunks.CDAT + 36 * positionOf('HEAD') + 20);
        sha1(graph.subarray(0, -20)).copy(graph, graph.length - 20);
        writeFileSync(file, graph);
      `),
    ].join('\n'),
  ),
  attacks: [
    {
      who: 'the agent',
      does: 'leaves a commit out of the graph by which git walks, and a password in that commit',
      ...neverSecret,
    },
  ],
});

repel<Aftermath>('Commits that stand for others', {
  stage: after(
    [
      `printf 'password = ${SECRET}\\n' > src/config.js; git add .; git commit -q -m one; bad=$(git rev-parse HEAD)`,
      `git rm -q --cached src/config.js; git commit -q --amend -m one; good=$(git rev-parse HEAD)`,
      'git replace $bad $good; git reset -q --soft $bad; echo "$bad $(git rev-parse $bad~1)" > .git/info/grafts; git rev-parse $bad > .git/shallow',
      'git config core.useReplaceRefs true; rm -f src/config.js; echo x > src/honest.js',
    ].join('\n'),
  ),
  attacks: [
    {
      who: 'the agent',
      does: 'has git show another commit in place of one with a password: replaced, grafted, shallow',
      ...neverSecret,
    },
  ],
});

const finishedWork = (what: string) => ({
  never: `the loss of the iterations before${what}`,
  holds: async ({ scene }: Aftermath) => {
    expect(await filesOf(scene)).toContain('src/issue-1.mjs');
  },
});

repel<Aftermath>('A git directory that is gone', {
  stage: after('rm -rf .git; echo x > src/x.js'),
  attacks: [{ who: 'the agent', does: 'removes .git', ...finishedWork('') }],
});

repel<Aftermath>('Objects that are gone', {
  heldBy: 'integration/git/git-commit.test.ts',
  stage: after('rm -rf .git/objects/*; mkdir -p .git/objects/info .git/objects/pack; echo x > src/x.js'),
  attacks: [{ who: 'the agent', does: 'removes all objects', ...finishedWork('') }],
});

repel<Aftermath & { readonly ran: string }>("Programs in git's configuration", {
  stage: async (scene) => {
    const marks = `${scene.testbed.folder}/ran`;
    const program = (name: string): string => `touch ${marks}-${name}; cat`;
    const { run } = await after(
      [
        'echo x > src/x.js',
        ...['post-checkout', 'pre-push', 'post-commit', 'reference-transaction', 'post-index-change', 'pre-commit'].map(
          (hook) =>
            `mkdir -p .git/hooks; printf '#!/bin/sh\\n${program('hook')}\\n' > .git/hooks/${hook}; chmod +x .git/hooks/${hook}`,
        ),
        `git config core.fsmonitor '${program('fsmonitor')}'`,
        `git config filter.x.clean '${program('filter')}'; git config filter.x.smudge '${program('filter')}'`,
        "echo '* filter=x diff=x' > .git/info/attributes",
        `git config diff.external '${program('diff')}'; git config diff.x.textconv '${program('diff')}'`,
        `git config core.sshCommand '${program('ssh')}'; git config credential.helper '!${program('helper')}'`,
        `git config core.pager '${program('pager')}'; git config uploadpack.packObjectsHook '${program('pack')}'`,
        `printf '[core]\\n\\tfsmonitor = "${program('include')}"\\n' > .git/more; git config include.path more`,
        `git config core.alternateRefsCommand '${program('alternate')}'`,
        'git config remote.origin.promisor true; git config extensions.partialClone origin',
        'git config url.https://evil.example/.insteadOf http://; git config http.proxy http://127.0.0.1:1',
        `rm -f ${marks}-*`,
      ].join('\n'),
    )(scene);
    const { readdirSync } = await import('node:fs');
    const ran = readdirSync(scene.testbed.folder).filter((name) => name.startsWith('ran-'));
    return { run, scene, ran: ran.join(' ') };
  },
  attacks: [
    { name: 'hooks of every kind', mark: 'hook' },
    { name: 'a file system monitor', mark: 'fsmonitor' },
    { name: 'content filters', mark: 'filter' },
    { name: 'a program for differences', mark: 'diff' },
    { name: 'a helper for credentials and an ssh', mark: 'helper|ran-ssh' },
    { name: 'a program that packs what is fetched', mark: 'pack' },
    { name: 'an included file with more of the kind', mark: 'include' },
  ].map(({ name, mark }) => ({
    who: 'the agent' as const,
    does: `writes ${name} into .git`,
    never: 'its start by the action, which knows the token',
    holds: async ({ ran, scene }: Aftermath & { readonly ran: string }) => {
      expect(ran).not.toMatch(new RegExp(`ran-(${mark})`));
      expect(await filesOf(scene)).toContain('src/x.js');
    },
  })),
});
