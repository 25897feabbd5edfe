export const APP_WINDOWS = [30, 60, 90] as const;
type Days = (typeof APP_WINDOWS)[number];

/** Reads the length of the usage chart from the address, in days. */
export const appSearch = ({ days }: Record<string, unknown>): { days?: Days | undefined } => ({
  days: APP_WINDOWS.find((window) => window === days),
});
