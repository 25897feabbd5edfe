import type { KindName } from './kinds.ts';

export type Goal = {
  /** Least share of the floor's requests a second. */
  ofFloor?: number;
  /** Least multiple of Django's. */
  ofDjango?: number;
  firstByteMs?: number;
  peakMb?: number;
  besideP99Ms?: number;
  /** With 32 requests at a time: most multiple of the floor's p99. */
  crowdedP99OfFloor?: number;
  /** Least share of the rate at which REST answers one user, call for call. */
  ofOne?: number;
};

/** What Steward is to reach. */
export const GOALS: Record<KindName, Goal> = {
  one: { ofFloor: 0.6, ofDjango: 9, crowdedP99OfFloor: 2 },
  'app-users': { ofFloor: 0.7, ofDjango: 14 },
  'all-users': { ofFloor: 0.7, ofDjango: 35, firstByteMs: 100, peakMb: 200, besideP99Ms: 30 },
  usage: { ofFloor: 0.75, ofDjango: 9 },
  apps: { ofFloor: 5, ofDjango: 8 },
  patch: { ofFloor: 0.6, ofDjango: 6 },
  bulk: { ofFloor: 0.7, ofDjango: 4 },
  login: { ofFloor: 0.6, ofDjango: 6, besideP99Ms: 50 },
  'trpc-10': { ofOne: 0.7 },
};
