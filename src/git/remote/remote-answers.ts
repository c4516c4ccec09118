import type { ObjectId } from '../../core/evidence.ts';
import { remoteWords } from '../git.ts';

/** What `git ls-remote` lists: a ref and where it points; `ref: …` for a symbolic one. */
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

/** The server's words about a `git push --porcelain`: the reason of each ref and what it printed. */
export function wordsOf({ stdout, stderr }: { readonly stdout: Buffer; readonly stderr: string }): string {
  const reasons = stdout
    .toString()
    .split('\n')
    .filter((line) => line.startsWith('!'))
    .map((line) => line.split('\t').at(-1) ?? '');
  return [...reasons, remoteWords(stderr)].join('\n');
}
