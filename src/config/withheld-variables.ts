import { variablesNeededBy } from '../core/pipeline/reading/command-variables.ts';
import { oneLine } from '../core/text/one-line.ts';
import { isJobSecret } from './inputs.ts';

/** Environment variables by name; a value that is undefined or empty counts as not set. */
type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Returns one sentence for each variable that a verify command needs, that the job has and that verify commands do not get:
 * they would fail for a reason that no task can cure.
 */
export function withheldVariables(
  commands: readonly string[],
  { job, given }: { readonly job: Environment; readonly given: Environment },
): readonly string[] {
  const isSet = (variables: Environment, name: string): boolean =>
    Object.hasOwn(variables, name) && (variables[name] ?? '') !== '';
  const named = new Set<string>();
  return commands.flatMap((command) =>
    variablesNeededBy(command)
      .filter((name) => isSet(job, name) && !isSet(given, name) && !named.has(name))
      .map((name) => {
        named.add(name);
        const why = `The verify command "${oneLine(command, 200)}" needs \`${name}\`, which is set in this job and withheld from \`verify\``;
        return isJobSecret(name)
          ? `${why}, because it is a secret of the job that code of the branch must not see. Change the command so that it does without.`
          : `${why}: name it in \`agent-env\`, or give it a default: \`\${${name}:-…}\`.`;
      }),
  );
}
