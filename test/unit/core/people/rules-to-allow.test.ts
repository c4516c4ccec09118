import { expect, test } from 'vitest';
import { rulesToAllow } from '../../../../src/core/people/rules-to-allow.ts';

const DEFAULTS = ['Read', 'Edit', 'Bash(git status:*)', 'Bash(git add:*)', 'Bash(npm:*)', 'Bash(pytest:*)'];

test.each<[string, string | null, readonly string[]]>([
  ['Bash', 'git status --short; id -un; env | grep x', ['Bash(id:*)', 'Bash(env:*)', 'Bash(grep:*)']],
  ['Bash', 'git push origin HEAD', ['Bash(git push:*)']],
  ['Bash', 'git -C app push', ['Bash(git -C app push:*)']],
  ['Bash', 'git status && git stash', ['Bash(git stash:*)']],
  ['Bash', 'git statusx', ['Bash(git statusx:*)']],
  ['Bash', 'gh pr view 3', ['Bash(gh pr:*)']],
  ['Bash', 'npm run build', []],
  ['Bash', 'pnpm run build', ['Bash(pnpm:*)']],
  ['Bash', 'cargo test --all', ['Bash(cargo:*)']],
  ['Bash', 'cargo build && cargo test', ['Bash(cargo:*)']],
  ['Bash', 'docker ps -a', ['Bash(docker ps:*)']],
  ['Bash', 'RUST_LOG=debug ./run.sh', ['Bash(./run.sh:*)']],
  ['Bash', 'grep "a; rm -rf b" file', ['Bash(grep:*)']],
  ['Bash', 'awk \'{print $1 | "sort"}\' x', ['Bash(awk:*)']],
  ['Bash', 'make 2>&1 | tee log', ['Bash(make:*)', 'Bash(tee:*)']],
  ['Bash', 'cd app && make', ['Bash(make:*)']],
  ['Bash', 'env FOO=1 curl x', []],
  ['Bash', 'sudo rm -rf /', []],
  ['Bash', 'bash -c "cargo test"', []],
  ['Bash', '$(x)', []],
  ['Bash', 'A=$(make x); make', ['Bash(make:*)']],
  ['Bash', 'git -c user.name="A B" push', []],
  ['Bash', 'git -C "$DIR" push', []],
  ['Bash', 'git', []],
  ['Bash', 'git --version', ['Bash(git --version:*)']],
  ['Bash', '/usr/bin/git push', ['Bash(/usr/bin/git push:*)']],
  ['Bash', '/bin/bash -c x; /usr/bin/env x', []],
  ['Bash', 'timeout 60 npm test; nice -n 10 timeout -k 5 60s make', ['Bash(make:*)']],
  ['Bash', 'for f in *; do rm "$f"; done', ['Bash(rm:*)']],
  ['Bash', "cat > x.py <<'EOF'\nimport os; it's\nEOF\n(cd a && make)", ['Bash(cat:*)', 'Bash(make:*)']],
  ['Bash', 'source venv/bin/activate && . x', []],
  ['Bash', 'npx -y eslint . && uv run pytest -q', ['Bash(npx -y eslint:*)', 'Bash(uv run pytest:*)']],
  ['Bash', 'python3 -m pip list', ['Bash(python3 -m pip:*)']],
  ['WebFetch', null, ['WebFetch']],
  ['Read', null, []],
  ['AskUserQuestion', null, []],
  ['we`ird', null, []],
])('%s %j: %j', (tool, command, rules) => {
  expect(rulesToAllow({ tool, command }, DEFAULTS)).toEqual(rules);
});
