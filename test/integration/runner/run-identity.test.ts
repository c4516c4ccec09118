import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readRunRecord, type RunRecord, writeRunRecord } from '../../../src/run/run-record.ts';
import { deriveRunIdentities, takeIdentity } from '../../../src/runner/run-context.ts';

let temp = '';
beforeEach(() => {
  temp = mkdtempSync(join(tmpdir(), 'ralph-identity-'));
});
afterEach(() => {
  rmSync(temp, { recursive: true });
});

const job = (change: Record<string, string> = {}): Record<string, string> => ({
  'INPUT_GITHUB-TOKEN': 'ghs_token',
  ACTIONS_RUNTIME_TOKEN: 'runtime',
  GITHUB_RUN_ID: '7',
  GITHUB_RUN_ATTEMPT: '1',
  GITHUB_JOB: 'ralph',
  RUNNER_TEMP: temp,
  ...change,
});
const record: RunRecord = {
  version: 2,
  stage: 'gate',
  startedAt: 1,
  steeringDigest: null,
  claimed: [{ lane: 'queue', runTag: 'a' }],
  work: null,
};

test('main takes a folder of its own, and post finds it by what the runner gives both', () => {
  const main = takeIdentity(job({ GITHUB_ACTION: '__ralph' }));
  expect(main.runTag).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(statSync(main.runFolder).mode & 0o777).toBe(0o700);
  expect(deriveRunIdentities(job({ GITHUB_ACTION: '__post', ANTHROPIC_API_KEY: 'changed by GITHUB_ENV' }))[0]).toEqual(
    main,
  );
});

test.each([
  { 'INPUT_GITHUB-TOKEN': 'ghs_other' },
  { ACTIONS_RUNTIME_TOKEN: 'other' },
  { GITHUB_RUN_ID: '8' },
  { GITHUB_RUN_ATTEMPT: '2' },
  { GITHUB_JOB: 'other' },
])('another job (%j) is another run', (change) => {
  const [mine, other] = [deriveRunIdentities(job())[0], deriveRunIdentities(job(change))[0]];
  expect(other.runTag).not.toBe(mine.runTag);
  expect(other.key.equals(mine.key)).toBe(false);
});

test('a job that uses the action again takes the next one; a folder or link that lies there is not taken', () => {
  const [first, second, third] = deriveRunIdentities(job());
  expect(takeIdentity(job())).toEqual(first);
  symlinkSync(tmpdir(), second?.runFolder ?? '');
  expect(takeIdentity(job())).toEqual(third);
});

test('where every folder is taken, the run does not begin', () => {
  for (const { runFolder } of deriveRunIdentities(job())) mkdirSync(runFolder);
  expect(() => takeIdentity(job())).toThrow('This job uses the action more than 8 times');
});

test('a record is read back by a process that has its key', () => {
  const { runFolder, key } = takeIdentity(job());
  writeRunRecord(runFolder, record, key);
  expect(readRunRecord(runFolder, key)).toEqual(record);
});

test.each<[string, (file: string) => void]>([
  [
    'changed',
    (file) => {
      writeFileSync(file, readFileSync(file, 'utf8').replace('queue', 'other'));
    },
  ],
  [
    'without its seal',
    (file) => {
      writeFileSync(file, JSON.stringify(record));
    },
  ],
  [
    'with a seal of nothing',
    (file) => {
      writeFileSync(file, `\n${JSON.stringify(record)}`);
    },
  ],
  [
    'gone',
    (file) => {
      rmSync(file);
    },
  ],
  [
    'a folder',
    (file) => {
      rmSync(file);
      mkdirSync(file);
    },
  ],
  [
    'a named pipe',
    (file) => {
      rmSync(file);
      execFileSync('mkfifo', [file]);
    },
  ],
])('a record that is %s is ignored', (_, change) => {
  const { runFolder, key } = takeIdentity(job());
  writeRunRecord(runFolder, record, key);
  change(join(runFolder, 'run.json'));
  expect(readRunRecord(runFolder, key)).toBeNull();
});

test("another run's record is ignored, though the same job wrote it", () => {
  const [first, second] = [takeIdentity(job()), takeIdentity(job())];
  writeRunRecord(first.runFolder, record, first.key);
  expect(readRunRecord(first.runFolder, second.key)).toBeNull();
});

test('a named pipe where the record is written does not hold it up', () => {
  const { runFolder, key } = takeIdentity(job());
  execFileSync('mkfifo', [join(runFolder, 'run.json.next'), join(runFolder, 'run.json')]);
  writeRunRecord(runFolder, record, key);
  expect(readRunRecord(runFolder, key)).toEqual(record);
});
