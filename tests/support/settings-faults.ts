import { InvalidSettings, readConfig } from '../../src/config/config.ts';

/** The lines about invalid settings. */
export const settingsFaults = (env: Record<string, string>): string[] => {
  try {
    readConfig(env);
    return [];
  } catch (error) {
    if (error instanceof InvalidSettings) return error.lines;
    throw error;
  }
};
