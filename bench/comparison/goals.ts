import type { KindName } from './kinds.ts';

export type Goal = {
  /** Least share of the floor's requests a second. */
  ofFloor?: number;
  /** Least multiple of Django's. */
  ofDjango?: number;
  firstByteMs?: number;
  peakMb?: number;
  besideP99Ms?: number;
};

/** What Steward is to reach. Whatever it replaces must never have been quicker. */
export const GOALS: Record<KindName, Goal> = {
  one: { ofFloor: 0.6, ofDjango: 1 },
  'app-users': { ofFloor: 0.7, ofDjango: 1 },
  'all-users': { ofFloor: 0.7, ofDjango: 1, firstByteMs: 100, peakMb: 200, besideP99Ms: 30 },
  usage: { ofFloor: 0.75, ofDjango: 1 },
  apps: { ofDjango: 1 },
  patch: { ofFloor: 0.6, ofDjango: 1 },
  bulk: { ofFloor: 0.7, ofDjango: 1 },
  login: { ofDjango: 1, besideP99Ms: 50 },
  'trpc-10': {},
};
