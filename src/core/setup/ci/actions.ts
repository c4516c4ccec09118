import { quoteShellText } from '../../text/phrase.ts';
import { pickText, type YamlMap } from './yaml-data.ts';

/**
 * Returns the command that an action runs for its inputs; null for an action that runs none, or that init does not
 * know. The name has no version and is in lower case.
 */
export function commandOfAction(name: string, given: YamlMap): string | null {
  const input = (key: string): string => pickText(given, key);
  const words = (...texts: readonly string[]): string => texts.filter((text) => text !== '').join(' ');
  switch (name) {
    case 'nick-fields/retry':
    case 'nick-invision/retry':
      return input('command') || null;
    case 'coactions/setup-xvfb':
    case 'gabrielbb/xvfb-action':
      return input('run') === '' ? null : words('xvfb-run --auto-servernum', input('run'));
    case 'actions-rs/cargo':
      return words('cargo', input('command'), input('args'));
    case 'gradle/gradle-build-action':
      return input('arguments') === '' ? null : words('./gradlew', input('arguments'));
    case 'julia-actions/julia-buildpkg':
      return `julia --project -e 'using Pkg; Pkg.instantiate()'`;
    case 'julia-actions/julia-runtest':
      return `julia --project -e 'using Pkg; Pkg.test()'`;
    case 'r-lib/actions/check-r-package':
      return `Rscript -e ${quoteShellText(`rcmdcheck::rcmdcheck(args = ${input('args') || 'c("--no-manual", "--as-cran")'}, build_args = ${input('build_args') || '"--no-manual"'}, error_on = ${input('error-on') || '"warning"'})`)}`;
    default:
      return null;
  }
}
