import { z } from 'zod';
import type { BrandingRow } from '../src/services/clients/branding.ts';
import { NoInput } from './schemas/fields.ts';
import { publicProcedure, router } from './trpc.ts';

const BrandingView = z.object({
  client_name: z.string(),
  login_title: z.string(),
  login_subtitle: z.string(),
  support_email: z.string(),
  home_location: z.string(),
  subtitle_404: z.string(),
  message_404: z.string(),
  subtitle_500: z.string(),
  message_500: z.string(),
});

const brandingView = (client: BrandingRow): z.input<typeof BrandingView> => ({
  client_name: client.name,
  login_title: client.login_title,
  login_subtitle: client.login_subtitle,
  support_email: client.support_email,
  home_location: client.home_location,
  subtitle_404: client.subtitle_404,
  message_404: client.message_404,
  subtitle_500: client.subtitle_500,
  message_500: client.message_500,
});

export const brandingRouter = router({
  /** The texts of the client whose site the request was sent to, for pages that come before a login. */
  get: publicProcedure
    .meta({
      openapi: { method: 'GET', path: '/branding/', tags: ['Branding'], protect: false },
      rest: { extension: true },
    })
    .input(NoInput)
    .output(BrandingView)
    .query(async ({ ctx }) => brandingView(await ctx.services.branding.get(ctx.host))),
});
