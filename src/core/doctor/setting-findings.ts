import { renderSetting, type AnsweredSettings } from '../settings/effective.ts';
import { fine, refused, type Finding } from './finding.ts';

/** The settings that a workflow's run works with, as far as they differ from the defaults, with where each stands; or what is wrong with those that are no inputs. */
export function settingFindings({ workflow, settings, problems }: AnsweredSettings): readonly Finding[] {
  const says =
    settings.length === 0
      ? 'Every setting has its default.'
      : `Settings that differ from the defaults: ${settings.map(renderSetting).join('; ')}.`;
  const found = problems.length === 0 ? [fine('settings', says)] : problems.map((why) => refused('settings', why));
  return found.map((one) => ({ ...one, where: workflow }));
}
