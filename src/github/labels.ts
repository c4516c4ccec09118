import type { ForgeAdapter, LabelDefinition } from '../ports/forge.ts';
import { UserError } from '../errors.ts';
import type { Client, Octokit, RepositoryName } from './client.ts';
import { isGoneError, isInvalid, statusOf } from './errors.ts';

type LabelMethods = Pick<ForgeAdapter, 'labelNames' | 'addLabels' | 'changeLabels'>;

/** Pages of 100. */
const MAX_LABEL_PAGES = 10;

/** Labels that the repository is known to have, in lower case: GitHub compares without case. */
export type KnownLabels = Set<string>;

/** Labels on issues. `known` grows with what issues are seen to have, and with what is created. */
export function createLabels({ ask }: Client, { known }: { readonly known: KnownLabels }): LabelMethods {
  return {
    labelNames: () =>
      ask({ doing: 'list the labels', needs: ['issues: read'] }, async (octokit, at) => {
        const names: string[] = [];
        let pages = 0;
        for await (const { data } of octokit.paginate.iterator(octokit.rest.issues.listLabelsForRepo, {
          ...at,
          per_page: 100,
        })) {
          names.push(...data.map(({ name }) => name));
          pages += 1;
          if (pages === MAX_LABEL_PAGES) break;
        }
        return names;
      }),

    addLabels: (number, names) =>
      ask({ doing: `label pull request #${String(number)}`, needs: ['pull-requests: write'] }, async (octokit, at) => {
        await octokit.rest.issues.addLabels({ ...at, issue_number: number, labels: [...names] });
      }),

    async changeLabels(number, { from, add, remove }) {
      const present = from.map(lowerCase);
      const added = add.filter(({ name }) => !present.includes(lowerCase(name)));
      const removed = remove.filter((name) => present.includes(lowerCase(name)));
      if (added.length === 0 && removed.length === 0) return;
      await ask({ doing: `change the labels of #${String(number)}`, needs: ['issues: write'] }, async (octokit, at) => {
        for (const label of added) await create(octokit, at, label);
        const issue = { ...at, issue_number: number };
        try {
          if (added.length > 0)
            await octokit.rest.issues.addLabels({ ...issue, labels: added.map(({ name }) => name) });
          for (const name of removed) await tryRemove(octokit, { ...issue, name });
        } catch (error) {
          throw isGoneError(error)
            ? new UserError('configuration', `Issue #${String(number)} no longer exists.`)
            : error;
        }
      });
    },
  };

  /** GitHub would make a missing label by itself, but grey and without a description. */
  async function create(
    octokit: Octokit,
    at: RepositoryName,
    { name, color, description }: LabelDefinition,
  ): Promise<void> {
    if (known.has(lowerCase(name))) return;
    try {
      await octokit.rest.issues.createLabel({ ...at, name, color, description });
    } catch (error) {
      if (!isInvalid(error, /already_exists/)) throw error;
    }
    known.add(lowerCase(name));
  }
}

/** Does nothing when somebody took it off already. */
async function tryRemove(
  octokit: Octokit,
  label: RepositoryName & { readonly issue_number: number; readonly name: string },
): Promise<void> {
  try {
    await octokit.rest.issues.removeLabel({ ...label });
  } catch (error) {
    if (statusOf(error) !== 404) throw error;
  }
}

function lowerCase(name: string): string {
  return name.toLowerCase();
}
