import { z } from 'zod';
import { COUNTED_OF_APPS } from '../src/services/removals/removals.ts';
import { routesOf } from './procedure-meta.ts';
import { Text } from './schemas/fields.ts';
import { AppKey, ByApp } from './schemas/keys.ts';
import { integers, Output } from './schemas/outputs.ts';
import { superuserProcedure } from './trpc.ts';

const AppRemovalOutput = Output('AppRemoval', {
  /** To be sent as `confirm_name`. */
  name: z.string(),
  /** Whether the app is in maintenance, as its removal requires. */
  is_closed: z.boolean(),
  ...integers(COUNTED_OF_APPS),
});

const route = routesOf('Apps');

export const appRemovalProcedures = {
  previewRemoval: route(superuserProcedure, 'GET', '/jb/apps/{app_id}/removal/', {
    summary: 'Count what the removal of an app would delete',
    description: 'Changes nothing.',
  })
    .input(ByApp)
    .output(AppRemovalOutput)
    .query(({ ctx, input }) => ctx.services.removals.previewApp(input.app_id)),

  remove: route(superuserProcedure, 'POST', '/jb/apps/{app_id}/removal/', {
    summary: 'Remove an app',
    description:
      'Deletes an app in maintenance with its grants, access views, stacks, saved filters and usage. Cannot be undone: make a backup first. `confirm_name` is the label of the app. The audit trail stays, and fetched packages can be loaded again, as a new app.',
    problems: ['not-closed', 'reauthentication-required'],
    example: { confirm_name: 'Sales' },
  })
    .input(z.object({ app_id: AppKey, confirm_name: Text(255) }))
    .output(z.void())
    .mutation(({ ctx, input }) => {
      ctx.timeLimit.lift();
      return ctx.services.removals.removeApp(ctx.actor, input.app_id, input.confirm_name);
    }),
};
