import { useSuspenseQuery } from '@tanstack/react-query';
import { type Outputs, trpc } from '../api.ts';

export type App = Outputs['apps']['get'];

/** The version that the app runs; undefined before the first load. */
export const versionOf = ({ package_info: { version } }: App): string | undefined =>
  typeof version === 'string' ? version : undefined;

/** Instead of the last use of an app that was opened, but sends no usage. */
export const UNRECORDED = 'Opened, no usage recorded';

/** Whether the user may see who uses the app: viewers of its client may, members may not. */
export const showsUsage = ({ usage }: App): boolean => usage['30'] !== undefined;

export const useClientOfApp = (id: string): number =>
  useSuspenseQuery(trpc.apps.permissions.queryOptions({ app_id: id })).data.client;
