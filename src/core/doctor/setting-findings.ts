import { renderSettings, type AnsweredSettings } from '../settings/effective.ts';
import { fine, refused, type Finding } from './finding.ts';

/** The settings that a workflow's run works with, each with where it stands; or what is wrong with those that are no inputs. */
export function settingFindings({ workflow, settings, problems }: AnsweredSettings): readonly Finding[] {
  const found =
    problems.length === 0
      ? renderSettings(settings).map((line) => fine('settings', line))
      : problems.map((why) => refused('settings', why));
  return found.map((one) => ({ ...one, where: workflow }));
}
