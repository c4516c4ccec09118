import { listFirstNames } from '../text/phrase.ts';
import { type ExaminedStep, buildSettingsUrl, pickRepositorySetting } from './examined-step.ts';
import type { ActionRules } from './facts.ts';
import { okFinding, problemFinding, createRemedy, uncheckedFinding, warningFinding, type Finding } from './finding.ts';
import { isExpression, type RalphStep, findSecretsIn } from './workflow.ts';

/** Checks that the step gets the keys that its agents need and that these secrets exist. */
export function checkStepSecrets(examined: ExaminedStep): readonly Finding[] {
  const { step, rules, repository } = examined;
  const given = keysGiven(step, rules);
  const link = buildSettingsUrl(repository, 'settings/secrets/actions');
  const problems = rules.loginProblems(listStepVariables(step, rules), step);
  if (problems.length > 0)
    return problems.map((says) => problemFinding('secret', says, createRemedy('Pass the key to the step.', { link })));
  const texts = [...given.map(([, text]) => text), ...Object.values(step.environment)];
  return [...exposedKeys(examined, link), ...swappedKeys(given, rules), ...missingSecrets(examined, texts, link)];
}

function keysGiven({ inputs }: RalphStep, { keyInputs }: Keys): readonly (readonly [string, string])[] {
  return Object.entries(inputs).filter(([name, text]) => keyInputs.includes(name) && text !== '');
}

type Keys = Pick<ActionRules, 'keyInputs'>;

/** Returns the step's variables and keys. An unknown value, such as a secret's, is returned as `given`. */
export function listStepVariables(step: RalphStep, rules: Keys): Readonly<Record<string, string>> {
  return {
    ...Object.fromEntries(
      Object.entries(step.environment)
        .filter(([, text]) => text !== '')
        .map(([name, text]) => [name, isExpression(text) ? 'given' : text]),
    ),
    ...Object.fromEntries(keysGiven(step, rules).map(([name]) => [variableOf(name), 'given'])),
  };
}

/**
 * Warns about keys whose value is in the workflow file. Their form is not checked, because a gateway may accept any.
 */
function exposedKeys({ step, rules }: ExaminedStep, link: string | null): readonly Finding[] {
  return Object.entries({ ...step.environment, ...step.inputs }).flatMap(([name, text]) => {
    const input = name.toLowerCase().replaceAll('_', '-');
    if (!rules.keyInputs.includes(input) || text === '' || isExpression(text)) return [];
    return [
      warningFinding(
        'secret',
        `The workflow file contains the value of \`${name}\`: everybody who can read the repository can read it.`,
        createRemedy('Revoke it, put a new key into a secret, and pass that.', {
          paste: `${name}: \${{ secrets.${variableOf(input)} }}`,
          link,
        }),
      ),
    ];
  });
}

/** Warns about key inputs that read a secret named after another key input. */
function swappedKeys(given: readonly (readonly [string, string])[], { keyInputs }: ActionRules): readonly Finding[] {
  return given.flatMap(([name, text]) => {
    const named = findSecretsIn(text);
    const other = keyInputs.find((input) => input !== name && named.includes(variableOf(input)));
    if (other === undefined || named.includes(variableOf(name))) return [];
    const secret = variableOf(other);
    return [
      warningFinding(
        'secret',
        `\`${name}\` is set from the secret \`${secret}\`, whose name suggests that it belongs in \`${other}\`.`,
        createRemedy('Pass it to that input. If only its name is wrong, rename the secret.', {
          paste: `${other}: \${{ secrets.${secret} }}`,
        }),
      ),
    ];
  });
}

function variableOf(input: string): string {
  return input.toUpperCase().replaceAll('-', '_');
}

/** Checks that all secrets exist that the step reads for its keys and environment. */
function missingSecrets(
  { step, repository }: ExaminedStep,
  texts: readonly string[],
  link: string | null,
): readonly Finding[] {
  const wanted = [...new Set(texts.flatMap(findSecretsIn))].filter((name) => name !== 'GITHUB_TOKEN');
  if (wanted.length === 0) return [];
  const known = pickRepositorySetting(repository, 'secrets');
  const names = listFirstNames(wanted.map((name) => `\`${name}\``));
  if (known.kind === 'unknown')
    return [
      uncheckedFinding(
        'secret',
        `Could not check whether ${names} ${wanted.length === 1 ? 'exists' : 'exist'}: ${known.why}`,
        createRemedy(wanted.length === 1 ? 'Make sure that it exists.' : 'Make sure that they exist.', { link }),
      ),
    ];
  const missing = wanted.filter((name) => !known.value.includes(name));
  if (missing.length === 0)
    return [okFinding('secret', wanted.length === 1 ? `The secret ${names} exists.` : `The secrets ${names} exist.`)];
  const [first = ''] = missing;
  const says = `The workflow reads ${listFirstNames(missing.map((name) => `\`${name}\``))}, which ${missing.length === 1 ? 'is not a secret' : 'are not secrets'} of the repository.`;
  const repo = repository.kind === 'known' ? ` --repo ${repository.value.name}` : '';
  const add = createRemedy('Add it.', { paste: `gh secret set ${first}${repo}`, link });
  return [
    step.hasEnvironment
      ? uncheckedFinding('secret', `${says} The secrets of the job's environment could not be checked.`, add)
      : problemFinding('secret', says, add),
  ];
}
