import { DASHBOARD_TITLE } from '../../src/report/pages/dashboard.ts';
import { renderClosingBlock } from '../../src/report/pages/progress.ts';
import { renderSummary } from '../../src/report/pages/summary.ts';
import type { Project } from '../../test/loop/stage/project.ts';
import { selectLaneReport } from '../../src/report/facts.ts';
import type { PlayedScene, Scene } from './play.ts';

/** A page that a person opens in the browser. */
export type Page =
  /** An issue or pull request with its body and comments. */
  | {
      readonly kind: 'thread';
      readonly name: 'pull-request' | 'issue' | 'dashboard';
      readonly number: number;
      readonly title: string;
      readonly labels: readonly string[];
      /** The posts with their authors, in Markdown. */
      readonly posts: readonly { readonly by: string; readonly markdown: string }[];
    }
  | { readonly kind: 'summary'; readonly name: 'summary'; readonly markdown: string }
  | { readonly kind: 'log'; readonly name: 'log'; readonly text: string };

const BOT = 'github-actions[bot]';

/** Returns every page that a run leaves for people, with its comments of any kind. */
export function pagesOf({ issue }: Pick<Scene, 'issue'>, { project, report, log }: PlayedScene): readonly Page[] {
  return [
    ...threads(issue, { project, report }),
    { kind: 'summary', name: 'summary', markdown: renderSummary(report) },
    { kind: 'log', name: 'log', text: [...log.map(asInLog), renderClosingBlock(report)].join('\n') },
  ];
}

/** Renders a log line as GitHub shows it: a closed group with its triangle, a warning with its label. */
function asInLog(line: string): string {
  const [, level = '', text = ''] = /^(\w+): ([^]*)$/.exec(line) ?? [];
  if (level === 'group') return `▸ ${text}`;
  return level === 'info' ? text : `${level.charAt(0).toUpperCase()}${level.slice(1)}: ${text}`;
}

function threads(issue: number, { project, report }: Pick<PlayedScene, 'project' | 'report'>): readonly Page[] {
  if (project === null) return [];
  const { forge } = project;
  const commentsOn = (number: number) =>
    [forge.comments, forge.notifications].flatMap((threads) =>
      [...(threads.get(number)?.values() ?? [])].map((markdown) => ({ by: BOT, markdown })),
    );
  const pull = forge.pulls.find(({ number }) => number === selectLaneReport(report)?.pullRequest?.number);
  const asked = forge.issues.get(issue);
  return [
    ...(pull === undefined
      ? []
      : [
          {
            kind: 'thread' as const,
            name: 'pull-request' as const,
            number: pull.number,
            title: pull.title,
            labels: pull.draft ? ['Draft'] : ['Open'],
            posts: [{ by: BOT, markdown: pull.body }, ...commentsOn(pull.number), ...threadsOf(forge)],
          },
        ]),
    ...(asked === undefined
      ? []
      : [
          {
            kind: 'thread' as const,
            name: 'issue' as const,
            number: asked.number,
            title: asked.title,
            labels: asked.labels,
            posts: [{ by: 'ann', markdown: asked.body }, ...commentsOn(issue)],
          },
        ]),
    ...[...forge.dashboards.values()].map(({ number, body }) => ({
      kind: 'thread' as const,
      name: 'dashboard' as const,
      number,
      title: DASHBOARD_TITLE,
      labels: ['Open'],
      posts: [{ by: BOT, markdown: body }],
    })),
  ];
}

/** Returns the review threads, which are shown at their lines. */
function threadsOf({ saidOf }: Project['forge']): Extract<Page, { kind: 'thread' }>['posts'] {
  const threads = [...saidOf.values()].flatMap((said) => said.threads ?? []);
  return threads.flatMap(({ path, line, comments }) =>
    comments.map(({ by, text }) => ({
      by: `${by?.login ?? 'ghost'} at ${path}${line === null ? '' : `:${String(line)}`}`,
      markdown: text,
    })),
  );
}

/** Returns the numbers of all existing issues and pull requests. */
export function numbersOf({ project }: PlayedScene): ReadonlySet<number> {
  if (project === null) return new Set();
  return new Set([...project.forge.issues.keys(), ...project.forge.pulls.map(({ number }) => number)]);
}
