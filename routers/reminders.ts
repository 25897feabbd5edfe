import { z } from 'zod';
import { routesOf } from './procedure-meta.ts';
import { ById, IdKey } from './schemas/keys.ts';
import { PreviewLimit } from './schemas/lists.ts';
import { Instant, integers, Output } from './schemas/outputs.ts';
import { personIdentity } from './schemas/users.ts';
import { router, settingsProcedure, viewerProcedure } from './trpc.ts';

const route = routesOf('Clients');

const RemindersOutput = Output('Reminders', {
  /** Days between the mail to the person and the end of a grant. 0 turns a reminder off, here and below. */
  access_days: z.int().meta({ examples: [7] }),
  /** Whether the admins get a mail about the same grants, one a day. */
  access_admins: z.boolean(),
  /** Days between the mail to the invitee, which is sent once, and the end of an invitation. */
  invitation_days: z.int().meta({ examples: [3] }),
  /** Days without a login and without use of the client's apps before a member is warned. */
  inactive_days: z.int().meta({ examples: [180] }),
  /** Days from the warning until a membership without use is suspended. */
  suspend_days: z.int().meta({ examples: [30] }),
  /** Whether the admins get a digest on Mondays. */
  weekly_digest: z.boolean(),
});

/** 0: off. */
const Days = (min: number, max: number) =>
  z
    .int()
    .min(0)
    .max(max)
    .refine((days) => days === 0 || days >= min, `Must be 0 or at least ${min}.`)
    .optional();

const Changes = {
  access_days: Days(1, 90),
  access_admins: z.boolean().optional(),
  invitation_days: Days(1, 90),
  inactive_days: Days(14, 3_650),
  suspend_days: Days(7, 365),
  weekly_digest: z.boolean().optional(),
};

const ReminderSection = z
  .object({
    /** The number of these mails or memberships. */
    count: z.int(),
    people: z.array(
      z.object({
        ...personIdentity,
        /** When the access ends or the invitation expires; the last login; or the warning. */
        at: Instant.nullable(),
        /** The apps to which access ends. */
        apps: z.array(z.string()).meta({ examples: [['Sales']] }),
      }),
    ),
  })
  .meta({ id: 'ReminderSection' });

const COUNTED_OF_DIGEST = [
  ...(['new_people', 'left_people', 'ending_grants'] as const),
  ...(['waiting_invitations', 'bounced_invitations', 'waiting_requests'] as const),
];

const RemindersPreviewOutput = Output('RemindersPreview', {
  access: ReminderSection,
  access_admins: ReminderSection,
  invitations: ReminderSection,
  inactive: ReminderSection,
  /** Memberships that will be suspended. Their people get no mail about it. */
  suspended: ReminderSection,
  weekly_digest: ReminderSection,
  /** The content of a digest of the last seven days. */
  digest: Output('Digest', {
    ...integers(COUNTED_OF_DIGEST),
    used_apps: z.array(z.object({ label: z.string(), actions: z.int() })),
    unused_apps: z.array(z.string()),
  }),
});

export const remindersRouter = router({
  get: route(viewerProcedure, 'GET', '/jb/clients/{id}/reminders/', {
    summary: 'Get what a client reminds of',
  })
    .input(ById)
    .output(RemindersOutput)
    .query(({ ctx, input }) => ctx.services.reminders.get(ctx.actor, input.id)),

  update: route(settingsProcedure, 'PATCH', '/jb/clients/{id}/reminders/', {
    summary: 'Change what a client reminds of',
    description:
      'All of it is off at first; 0 days turn it off. Mails are enqueued within an hour, each once. Other days of inactivity begin again: no one is suspended who was not warned by the present ones. See the preview before.',
    resourceQuery: 'reminders.get',
    example: { access_days: 7, invitation_days: 3 },
  })
    .input(z.object({ id: IdKey, ...Changes, expected: RemindersOutput.partial().optional() }))
    .output(RemindersOutput)
    .mutation(({ ctx, input: { id, expected, ...changes } }) =>
      ctx.services.reminders.update(ctx.actor, id, changes, expected),
    ),

  preview: route(settingsProcedure, 'GET', '/jb/clients/{id}/reminders/preview/', {
    summary: 'Preview what a client would remind of',
    description:
      'Who would get which mail in the next run, and whose membership would be suspended, by the stored settings, or by those in the query. Nothing is sent.',
  })
    .input(
      z.object({
        id: IdKey,
        ...Changes,
        limit: PreviewLimit,
      }),
    )
    .output(RemindersPreviewOutput)
    .query(({ ctx, input: { id, limit, ...changes } }) =>
      ctx.services.reminders.preview(ctx.actor, id, changes, limit),
    ),
});
