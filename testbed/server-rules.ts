import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { VERIFIED_COMMITS } from './github/routes-commits.ts';

/**
 * A server rule, which a bare repository enforces in its pre-receive hook with GitHub's own messages.
 * `text`, `path` and `extension` are forbidden in new commits; `pattern` is a basic regular expression that they must
 * match.
 */
export type ServerRule =
  | { readonly kind: 'none' }
  | { readonly kind: 'secret'; readonly text: string; readonly namesFile: boolean }
  | { readonly kind: 'file-path'; readonly path: string }
  | { readonly kind: 'file-size'; readonly bytes: number }
  | { readonly kind: 'creation' | 'update' | 'deletion' | 'linear-history' | 'signatures' }
  | { readonly kind: 'author' | 'message'; readonly pattern: string }
  | { readonly kind: 'workflow' }
  /** A hook that declines commits with this text and gives no reason. */
  | { readonly kind: 'silent'; readonly text: string };

/** Kinds of rules about content, which GitHub applies to every push. */
const OF_CONTENT: readonly ServerRule['kind'][] = ['secret', 'file-path', 'file-size', 'workflow', 'silent'];

/**
 * Makes the bare repository in `folder` enforce these rules instead of the previous ones. They apply to branches, and
 * those about content also to commits that are pushed to be signed.
 */
export async function setServerRules(folder: string, rules: readonly ServerRule[]): Promise<void> {
  const hook = join(folder, 'hooks', 'pre-receive');
  await mkdir(dirname(hook), { recursive: true });
  const checksOf = (ofContent: boolean): string =>
    rules
      .filter(({ kind }) => OF_CONTENT.includes(kind) === ofContent)
      .map((rule) => `  ${scriptOf(rule)}`)
      .join('\n');
  // Exempt the refs of the runs' state, which rulesets for branches do not cover.
  const script = `#!/bin/sh
violated() { echo "error: GH013: Repository rule violations found for $ref." >&2; echo >&2; printf '%s\\n' "$@" >&2; exit 1; }
while read -r old new ref; do
  case $ref in refs/heads/*|refs/ralph/v2/unsigned/*) ;; *) continue ;; esac
  zero=$(echo "$old" | tr -d 0); gone=$(echo "$new" | tr -d 0)
  fresh=; [ -n "$gone" ] && fresh=$(git rev-list "$new" --not --all)
${checksOf(true)}
  case $ref in refs/heads/*) ;; *) continue ;; esac
${checksOf(false)}
done
exit 0
`;
  await writeFile(hook, script, { mode: 0o755 });
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Returns the shell code that checks each file changed by a new commit; the commit is `$c`, the file `$f`. */
const eachFile = (body: string): string =>
  `for c in $fresh; do for f in $(git diff-tree --root -r -m --no-commit-id --name-only --diff-filter=d "$c"); do ${body}; done; done`;

function scriptOf(rule: ServerRule): string {
  switch (rule.kind) {
    case 'none':
      return ':';
    case 'secret': {
      const place = rule.namesFile ? `"       locations:" "         - commit: $c" "           path: $f:1"` : '';
      return eachFile(
        `git cat-file blob "$c:$f" | grep -qF ${quoted(rule.text)} && violated '- GITHUB PUSH PROTECTION' '  —————————————————————————————————————————' '    Resolve the following violations before pushing again' '' '    - Push cannot contain secrets' '' '     (?) Learn how to resolve a blocked push' '     https://docs.github.com/code-security/secret-scanning' '' '      —— Example Service Token ——————————————————————' ${place} '' '       (?) To push, remove secret from commit(s) or follow this URL to allow the secret.' '       https://github.com/octo/sample/security/secret-scanning/unblock-secret/2abc'`,
      );
    }
    case 'file-path':
      return eachFile(
        `case $f in ${rule.path}) violated '- GITHUB PUSH PROTECTION' '    Resolve the following violations before pushing again' '' '    - File path is restricted' '' '       locations:' "         - commit: $c" "           path: $f" ;; esac`,
      );
    case 'file-size':
      return eachFile(
        `size=$(git cat-file -s "$c:$f"); if [ "$size" -gt ${String(rule.bytes)} ]; then echo "error: File $f is 301.74 MB; this exceeds GitHub's file size limit of 100.00 MB" >&2; echo "error: GH001: Large files detected. You may want to try Git Large File Storage - https://git-lfs.github.com." >&2; exit 1; fi`,
      );
    case 'creation':
      return `[ -z "$zero" ] && violated '- Cannot create ref due to creations being restricted.'`;
    case 'update':
      return `[ -n "$zero" ] && [ -n "$gone" ] && violated '- Cannot update this protected ref.'`;
    case 'deletion':
      return `[ -z "$gone" ] && violated '- Cannot delete this branch'`;
    case 'linear-history':
      return `for c in $fresh; do [ -n "$(git rev-list --merges -1 "$c^!")" ] && violated '- This branch must not contain merge commits.' '  Found 1 violation:' '' "  $c"; done`;
    case 'signatures':
      // List commits that are new to all branches: an earlier push to another ref may already have uploaded them.
      return `[ -n "$gone" ] && for c in $(git rev-list "$new" --not --branches); do grep -qx "$c" ${VERIFIED_COMMITS} 2>/dev/null || violated '- Commits must have verified signatures.' '  Found 1 violation:' '' "  $c"; done`;
    case 'author':
      return `for c in $fresh; do git show -s --format=%ae "$c" | grep -q ${quoted(rule.pattern)} || violated '- Commit author email must match a given regex pattern: '${quoted(rule.pattern)} '  Found 1 violation:' '' "  $c"; done`;
    case 'message':
      return `for c in $fresh; do git show -s --format=%s "$c" | grep -q ${quoted(rule.pattern)} || violated '- Commit message must match a given regex pattern: '${quoted(rule.pattern)} '  Found 1 violation:' '' "  $c"; done`;
    case 'workflow':
      return `for c in $fresh; do f=$(git log --format= --name-only -m "$c" --not --all | grep '^[.]github/workflows/' | head -n 1); if [ -n "$f" ]; then echo "refusing to allow a GitHub App to create or update workflow \\\`$f\\\` without \\\`workflows\\\` permission" >&2; exit 1; fi; done`;
    case 'silent':
      return eachFile(
        `git cat-file blob "$c:$f" | grep -qF ${quoted(rule.text)} && { echo 'declined by policy 17' >&2; exit 1; }`,
      );
  }
}
