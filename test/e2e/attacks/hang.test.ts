import { expect } from 'vitest';
import type { Run, Scene, SceneJob } from '../e2e-fixture.ts';
import { attackBy, repel, type Attack } from './attack-fixture.ts';

/**
 * Longer than the limit of one minute for a git command. A run that takes longer hangs; its process is then killed, so
 * that the row can report it.
 */
const PATIENCE_MS = 100_000;

interface Aftermath {
  readonly run: Run;
  readonly scene: Scene;
}

async function patiently(scene: Scene, job: SceneJob): Promise<Aftermath> {
  const timers: NodeJS.Timeout[] = [];
  const run = await scene.run({
    ...job,
    onStart: (main) => {
      timers.push(
        setTimeout(() => {
          main.kill('SIGKILL');
        }, PATIENCE_MS),
      );
    },
  });
  timers.forEach(clearTimeout);
  return { run, scene };
}

const ends: Pick<Attack<Aftermath>, 'never' | 'holds'> = {
  never: 'a run that hangs, or the loss of the iteration before',
  holds: async ({ run, scene }) => {
    expect(run.main).toMatchObject({ signal: null });
    expect(run.main.durationMs).toBeLessThan(PATIENCE_MS);
    expect(run.outputs['outcome']).toMatch(/./);
    expect((await scene.commitsOf('ralph/queue')).length).toBeGreaterThan(0);
  },
};

const pipe = (path: string): string => `rm -rf ${path}; mkfifo ${path}`;

repel<Aftermath>('Named pipes where git reads a file', {
  heldBy: 'integration/git/git-pipes.test.ts',
  stage: (scene) => {
    scene.openIssue('Count');
    return patiently(scene, {
      inputs: { 'max-iterations': '2' },
      agent: [
        { kind: 'work' },
        attackBy([pipe('.gitignore'), pipe('.gitattributes'), pipe('src/.gitignore'), 'echo x > src/x.js'].join('\n')),
      ],
    });
  },
  attacks: [{ who: 'the agent', does: 'makes .gitignore and .gitattributes pipes that nobody writes to', ...ends }],
});

repel<Aftermath>('Named pipes in .git', {
  heldBy: 'integration/git/git-pipes.test.ts',
  stage: (scene) => {
    scene.openIssue('Count');
    return patiently(scene, {
      inputs: { 'max-iterations': '2' },
      agent: [
        { kind: 'work' },
        attackBy(['echo x > src/x.js', pipe('.git/config'), pipe('.git/index'), pipe('.git/info/exclude')].join('\n')),
      ],
    });
  },
  attacks: [{ who: 'the agent', does: 'makes .git/config, the index and the excludes pipes', ...ends }],
});

repel<Aftermath>("Named pipes in the action's own folder", {
  stage: (scene) => {
    scene.openIssue('Count');
    return patiently(scene, {
      inputs: { 'max-iterations': '2' },
      agent: [
        { kind: 'work' },
        attackBy(
          [
            'echo x > src/x.js',
            'for name in config HEAD index info/exclude; do for repository in $(find "$run_folder" -name HEAD -printf "%h\\n"); do rm -f "$repository/$name"; mkfifo "$repository/$name"; done; done',
            pipe('"$run_folder/run.json"'),
            pipe('"$run_folder/run.json.next"'),
          ].join('\n'),
        ),
      ],
    });
  },
  attacks: [
    { who: 'the agent', does: "makes pipes of the files of the action's own repositories and of its record", ...ends },
  ],
});
