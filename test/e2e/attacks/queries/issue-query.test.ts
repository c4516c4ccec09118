import { expect } from 'vitest';
import { editIssue, giveIssue, labelIssue } from '../../../../testbed/github/people.ts';
import { addIssue } from '../../../../testbed/github/state.ts';
import type { Run } from '../../e2e-fixture.ts';
import { attackBy, leftBy, repel, type Attack } from '../attack-fixture.ts';

const QUERY = 'label:bug type:Bug assignee:octo';

interface Searched {
  readonly run: Run;
  readonly prompt: string;
  readonly others: Readonly<Record<string, Run>>;
}

repel<Searched>('What a search finds', {
  stage: async (scene) => {
    const { github } = scene.testbed;
    const { state } = github;
    const now = Date.now() - 600_000;
    /** Opens an issue of a stranger, to which these people give what the search names. */
    const open = (title: string, { labels = 'stranger', type = 'stranger', assigns = 'stranger' }) => {
      const { number } = addIssue(state, { title, body: `crash: ${title}`, labels: [], author: 'stranger' }, now);
      labelIssue(state, number, { label: 'bug', by: labels, now });
      giveIssue(state, number, { field: 'assignee', what: 'octo', by: assigns, now });
      giveIssue(state, number, { field: 'type', what: 'Bug', by: type, now: now + 1000 });
      return number;
    };
    open('TEMPLATE', {});
    open('TRIAGED', { labels: 'triager', type: 'former-writer' });
    open('PLANNED', { labels: 'octo', type: 'triager', assigns: 'octo' });
    const edited = open('EDITED', { type: 'octo' });
    editIssue(state, edited, { body: 'CHANGED', by: 'stranger', now: now + 60_000 });
    open('HONEST', { type: 'octo' });
    const look = attackBy(`cat "$CLAUDE_CONFIG_DIR"/projects/*/*.jsonl >> "$scratch/prompts"; echo x >> src/x.js`);
    const run = await scene.run({ agent: [look, look, look], inputs: { 'issue-query': QUERY } });
    const others: Record<string, Run> = {};
    for (const query of ['is:open crash', '-label:other crash', 'NOT type:Task crash', 'type:Bug OR crash'])
      others[query] = await scene.run({ inputs: { 'issue-query': query } });
    // The index may still have an issue under the login that its author gave up.
    const address = `${github.url}/repos/${state.repository.owner}/${state.repository.name}`;
    const item = {
      ...{ number: 1, node_id: 'I_1', title: 'TEMPLATE', body: '', labels: [], state: 'open' },
      ...{ html_url: `${address}/issues/1`, repository_url: address },
    };
    const body = { total_count: 1, incomplete_results: false, items: [item] };
    const effect = { kind: 'answer', status: 200, body } as const;
    github.faults.inject({ match: { path: /^\/search\/issues$/ }, times: 1, effect });
    others['author:former'] = await scene.run({ inputs: { 'issue-query': 'author:former' } });
    others['elsewhere'] = await scene.run({ inputs: { 'issue-query': 'crash) OR (type:Bug' } });
    return { run, others, prompt: leftBy(run, 'prompts') ?? '' };
  },
  attacks: [
    byAuthor('opens an issue by a template that gives it label, type and assignee', 'a call for it', (after) => {
      expect(after.run.calls).toBe(1);
      expect(after.prompt).toContain('HONEST');
      expect(after.prompt).not.toContain('TEMPLATE');
    }),
    byAuthor(
      'has somebody with the right to triage label it, and a former writer type it',
      'a call for it',
      (after) => {
        expect(after.prompt).not.toContain('TRIAGED');
      },
    ),
    byAuthor('has somebody with the right to triage complete what a writer planned', 'a call for it', (after) => {
      expect(after.prompt).not.toContain('PLANNED');
    }),
    byAuthor('edits the issue after a writer gave it what the search names', 'a call with either text', (after) => {
      expect(after.prompt).not.toMatch(/CHANGED|EDITED/);
    }),
    byAuthor('writes the words that a search without a demand looks for', 'a call', ({ others }) => {
      expect(others['is:open crash']?.calls).toBe(0);
    }),
    byAuthor('opens an issue that lacks what a search excludes', 'a call', ({ others }) => {
      expect(others['-label:other crash']?.calls).toBe(0);
      expect(others['NOT type:Task crash']?.calls).toBe(0);
    }),
    byAuthor('meets the one alternative that demands nothing', 'a call', ({ others }) => {
      expect(others['type:Bug OR crash']?.calls).toBe(0);
    }),
    byAuthor('had the login that the search names, and gave it up', 'a call', ({ others }) => {
      expect(others['author:former']).toMatchObject({ calls: 0, outputs: { outcome: 'idle' } });
    }),
    byAuthor('counts on a search that ends the limits around it', 'a search', ({ others }) => {
      expect(others['elsewhere']).toMatchObject({ calls: 0, outputs: { outcome: 'failed', reason: 'configuration' } });
    }),
  ],
});

function byAuthor(does: string, never: string, holds: Attack<Searched>['holds']): Attack<Searched> {
  return { who: 'the author of an issue', does, never, holds };
}
