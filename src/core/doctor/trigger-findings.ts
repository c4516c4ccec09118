import { isSameLabel, namePlanLabel } from '../people/labels.ts';
import { listFirstNames, quoteYamlText } from '../text/phrase.ts';
import { type ExaminedStep, findStepInput } from './examined-step.ts';
import { okFinding, problemFinding, createRemedy, warningFinding, type Finding } from './finding.ts';
import { callsRalph, isExpression, type RalphStep } from './workflow.ts';

/** Checks that the action supports the events and types that start the workflow. */
export function checkTriggers({ workflow, step, rules }: ExaminedStep): readonly Finding[] {
  // A called workflow gets the events of its callers, and a condition may exclude the unsupported ones, so the triggers
  // are not checked here.
  if (workflow.triggers.some(({ event }) => event === 'workflow_call') || step.condition.includes('event_name'))
    return [okFinding('triggers', 'A condition or the calling workflow decides which events reach the action.')];
  const wrong = workflow.triggers.flatMap(({ event, types }) => {
    const rows = rules.events.filter((row) => row.event === event);
    if (rows.length === 0)
      return [problemFinding('triggers', `The action does not work on the event \`${event}\`.`, removeTrigger)];
    const supported = rows.flatMap((row) => row.types ?? []);
    if (supported.length === 0) return [];
    const paste = `${event}:\n  types: [${supported.join(', ')}]`;
    if (types === null)
      return [
        warningFinding(
          'triggers',
          `\`${event}\` has no \`types\`, so it starts runs for types that the action does not support.`,
          createRemedy('List the types that you want, from these.', { paste }),
        ),
      ];
    const others = types.filter((type) => !supported.includes(type));
    return others.length === 0
      ? []
      : [
          problemFinding(
            'triggers',
            `\`${event}\` has types that the action does not support: ${listFirstNames(others)}.`,
            createRemedy('Keep only types from this list.', { paste }),
          ),
        ];
  });
  return wrong.length > 0 ? wrong : [okFinding('triggers', 'Every trigger is one that the action supports.')];
}

const removeTrigger = createRemedy('Remove it from `on:`: such runs fail.', {});

/** Returns the findings about the job's `if`: it does not filter labels or comments, or filters for another label. */
export function checkEventFilter(examined: ExaminedStep): readonly Finding[] {
  const { workflow, step } = examined;
  const has = (event: string): boolean => workflow.triggers.some((trigger) => trigger.event === event);
  const missing = [
    ...(has('issues') && !/event\.label|labels/.test(step.condition) ? ['issues'] : []),
    ...(has('issue_comment') && !/comment\.body/.test(step.condition) ? ['issue_comment'] : []),
  ];
  const label = findStepInput(examined, 'task-label');
  if (has('issues') && label !== null) {
    const other = [conditionFilter(step), calledWorkflowFilter(examined)].find(
      ({ labels }) => labels.length > 0 && !labels.some((name) => isSameLabel(name, label)),
    );
    if (other !== undefined) return [labelMismatch(examined, label, other)];
  }
  if (missing.length === 0)
    return has('issues') || has('issue_comment')
      ? [okFinding('event-filter', 'The job ignores other labels and comments.')]
      : [];
  return [
    warningFinding(
      'event-filter',
      `${listFirstNames(missing)}: the job has no \`if\` that leaves out other labels and comments, so each of them starts a job.`,
      createRemedy('Give the job this condition, with your task label.', {
        paste:
          "if: ${{ !github.event.issue || github.event.label.name == 'ralph' || startsWith(github.event.comment.body, '/ralph') || startsWith(github.event.comment.body, '`/ralph') || startsWith(github.event.comment.body, '**/ralph') || (github.event.issue.pull_request && github.event.issue.user.type == 'Bot' && startsWith(github.event.comment.body, '@')) }}",
      }),
    ),
  ];
}

/** A label comparison that precedes a run. */
interface LabelFilter {
  /** The place of the comparison, as the subject of a sentence. */
  readonly waits: string;
  /** The labels that are compared; empty if none, or if only a run knows them. */
  readonly labels: readonly string[];
  /** Returns the remedy that makes the comparison accept a label. */
  readonly toMatch: (label: string) => NonNullable<Finding['remedy']>;
}

function labelMismatch({ settings }: ExaminedStep, label: string, { waits, labels, toMatch }: LabelFilter): Finding {
  const setting = settings.find(({ input }) => input === 'task-label');
  const from = setting?.origin === 'file' || setting?.origin === 'environment' ? ` (${setting.where})` : '';
  const names = listFirstNames(labels.map((name) => `\`${name}\``));
  return warningFinding(
    'event-filter',
    `${waits} waits for the label ${names}, but \`task-label\` is \`${label}\`${from}: that label starts no job.`,
    toMatch(label),
  );
}

function conditionFilter({ condition }: RalphStep): LabelFilter {
  return {
    waits: "The job's `if`",
    labels: [...condition.matchAll(LABEL_CONDITIONS)]
      .map(([, ...names]) => (names.find(Boolean) ?? '').replaceAll("''", "'"))
      // The label that requests a plan is not the task label, so it is not compared with it.
      .filter((name) => !name.endsWith(namePlanLabel(''))),
    toMatch: (label) =>
      createRemedy('Use the same label in both.', {
        paste: `github.event.label.name == '${label.replaceAll("'", "''")}'`,
      }),
  };
}

const LABEL_CONDITIONS =
  /\blabel\.name\s*==\s*'((?:[^']|'')*)'|'((?:[^']|'')*)'\s*==\s*github\.event\.label\.name\b|(?<!!\s*)\bcontains\(\s*github\.event\.issue\.labels\.\*\.name\s*,\s*'((?:[^']|'')*)'/g;

/** Returns the filter of the reusable workflow, which uses only its own input and ignores a settings file. */
function calledWorkflowFilter({ step, rules }: ExaminedStep): LabelFilter {
  const own = step.given['task-label'] ?? rules.defaults['task-label'] ?? '';
  return {
    waits: 'The first job of the called workflow',
    labels: callsRalph(step.action) && !isExpression(own) ? [own] : [],
    toMatch: (label) =>
      createRemedy('Give the called workflow this input.', { paste: `task-label: ${quoteYamlText(label)}` }),
  };
}
