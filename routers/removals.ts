import { z } from 'zod';
import { COUNTED_OF_APPS, COUNTED_OF_CLIENTS } from '../src/services/removals/removals.ts';
import { routesOf } from './procedure-meta.ts';
import { Text } from './schemas/fields.ts';
import { AppKey, ByApp, ById, IdKey } from './schemas/keys.ts';
import { integers, Output } from './schemas/outputs.ts';
import { superuserProcedure } from './trpc.ts';

const AppRemovalOutput = Output('AppRemoval', {
  /** To be sent as `confirm_name`. */
  name: z.string(),
  /** Whether the app is in maintenance, as its removal requires. */
  is_closed: z.boolean(),
  ...integers(COUNTED_OF_APPS),
});

const ClientRemovalOutput = Output('ClientRemoval', {
  /** To be sent as `confirm_name`. */
  name: z.string(),
  /** Whether the client is closed, as its removal requires. */
  is_closed: z.boolean(),
  apps: z.int(),
  ...integers(COUNTED_OF_CLIENTS),
  ...integers(COUNTED_OF_APPS),
});

const confirmation = { confirm_name: Text(255) };
const problems = ['not-closed', 'reauthentication-required'] as const;
const [ofApp, ofClient] = [routesOf('Apps'), routesOf('Clients')];

export const appRemovalProcedures = {
  previewRemoval: ofApp(superuserProcedure, 'GET', '/jb/apps/{app_id}/removal/', {
    summary: 'Count what the removal of an app would delete',
    description: 'Changes nothing.',
  })
    .input(ByApp)
    .output(AppRemovalOutput)
    .query(({ ctx, input }) => ctx.services.removals.previewApp(input.app_id)),

  remove: ofApp(superuserProcedure, 'POST', '/jb/apps/{app_id}/removal/', {
    summary: 'Remove an app',
    description:
      'Deletes an app in maintenance with its grants, access views, stacks, saved filters and usage. Cannot be undone: make a backup first. `confirm_name` is the label of the app. The audit trail stays, and fetched packages can be loaded again, as a new app.',
    problems,
    example: { confirm_name: 'Sales' },
  })
    .input(z.object({ app_id: AppKey, ...confirmation }))
    .output(z.void())
    .mutation(({ ctx, input }) => {
      ctx.timeLimit.lift();
      return ctx.services.removals.removeApp(ctx.actor, input.app_id, input.confirm_name);
    }),
};

export const clientRemovalProcedures = {
  previewRemoval: ofClient(superuserProcedure, 'GET', '/jb/clients/{id}/removal/', {
    summary: 'Count what the removal of a client would delete',
    description: 'Changes nothing. `deactivated_accounts` counts people who belong to no other client.',
  })
    .input(ById)
    .output(ClientRemovalOutput)
    .query(({ ctx, input }) => ctx.services.removals.previewClient(input.id)),

  remove: ofClient(superuserProcedure, 'POST', '/jb/clients/{id}/removal/', {
    summary: 'Remove a client',
    description:
      'Deletes a closed client with its apps, groups, memberships, invitations and mails, and deactivates people who belong to no other client and are neither staff nor superuser. Cannot be undone: make a backup first. `confirm_name` is the name of the client. The audit trail and the site stay.',
    problems,
    example: { confirm_name: 'Acme' },
  })
    .input(z.object({ id: IdKey, ...confirmation }))
    .output(z.void())
    .mutation(({ ctx, input }) => {
      ctx.timeLimit.lift();
      return ctx.services.removals.removeClient(ctx.actor, input.id, input.confirm_name);
    }),
};
