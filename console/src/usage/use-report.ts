import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type Outputs, trpc } from '../api.ts';
import type { Report } from './usage-filter.ts';

/** Newest first. */
export type UsagePeriod = Outputs['usage']['report'][number];

export const useReport = (report: Report) =>
  useQuery(trpc.usage.report.queryOptions(report, { placeholderData: keepPreviousData }));

/** By interval, oldest first. */
export const previousActions = (rows: readonly UsagePeriod[]): number[] =>
  rows.map(({ previous_actions }) => previous_actions).toReversed();
