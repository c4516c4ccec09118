import type { ObjectId } from '../../core/evidence.ts';
import { parseRemoteWords } from '../git.ts';

/** Parses the output of `git ls-remote`: a ref and the object to which it points, or `ref: …` for a symbolic one. */
export function parseRefs(stdout: Buffer): readonly { readonly name: string; readonly value: ObjectId }[] {
  return stdout
    .toString()
    .split('\n')
    .filter((line) => line.includes('\t'))
    .map((line) => {
      const [value = '', name = ''] = line.split('\t');
      return { name, value };
    });
}

/** Returns the server's words about a `git push --porcelain`: the reason for each ref and what it printed. */
export function extractServerWords({ stdout, stderr }: { readonly stdout: Buffer; readonly stderr: string }): string {
  const reasons = stdout
    .toString()
    .split('\n')
    .filter((line) => line.startsWith('!'))
    .map((line) => line.split('\t').at(-1) ?? '');
  return [...reasons, parseRemoteWords(stderr)].join('\n');
}
