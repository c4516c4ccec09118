import type { Choices } from './files.ts';
import { SECRETS } from './workflow.ts';

/** Something that a person does; `path` is the page below the repository's own, null: it is on no page. */
interface Step {
  readonly what: string;
  readonly path: string | null;
}

/** What is left to do after the files are written, in order. `action` is what the workflow uses. */
export function stepsByHand(given: {
  readonly choices: Choices;
  readonly label: string;
  readonly defaultBranch: string | null;
  readonly action: string;
  /** Paths of files that are no JSON. */
  readonly unreadable: readonly string[];
}): readonly Step[] {
  const { choices, label, defaultBranch, action, unreadable } = given;
  return [
    ...unreadable.map((path) => ({
      what: `Repair ${path}: it is not a JSON object, so its commands were not found. Then run init with --remove, and once more.`,
      path: null,
    })),
    ...(action.startsWith('OWNER/')
      ? [
          {
            what: `In .github/workflows/ralph.yml, replace OWNER with the account that ralph-action belongs to.`,
            path: null,
          },
        ]
      : []),
    ...(choices.verify.length === 0
      ? [{ what: 'Set verify in .github/workflows/ralph.yml: the command that proves that work is done.', path: null }]
      : []),
    {
      what: `Commit the files and get them onto ${defaultBranch ?? 'the default branch'}: workflows run from there.`,
      path: null,
    },
    { what: `Add the secret ${SECRETS[choices.key]}.`, path: '/settings/secrets/actions/new' },
    { what: 'Tick "Allow GitHub Actions to create and approve pull requests".', path: '/settings/actions' },
    { what: `Create the label ${label}, then put it on an issue.`, path: '/labels' },
  ];
}
