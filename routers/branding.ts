import { z } from 'zod';
import { routesOf } from './procedure-meta.ts';
import { NoInput } from './schemas/fields.ts';
import { publicProcedure, router } from './trpc.ts';

/** The texts that pages show before login, and on errors. */
export const branding = {
  login_title: z.string().meta({ examples: ['Welcome to Acme Analytics'] }),
  login_subtitle: z.string().meta({ examples: ['Log in to see your apps.'] }),
  support_email: z.string(),
  home_location: z.string(),
  subtitle_404: z.string().meta({ examples: ['We could not find that page'] }),
  message_404: z.string().meta({ examples: ['The page may have moved, or the link may be incomplete.'] }),
  subtitle_500: z.string().meta({ examples: ['Something went wrong on our side'] }),
  message_500: z.string().meta({ examples: ['Please try again in a moment.'] }),
};

const BrandingOutput = z.object({ client_name: z.string(), ...branding });

export const brandingRouter = router({
  get: routesOf('Branding')(publicProcedure, 'GET', '/branding/', {
    summary: 'Get the texts of public pages',
    description: 'The texts of the client whose site received the request.',
  })
    .input(NoInput)
    .output(BrandingOutput)
    .query(({ ctx }) => ctx.services.branding.get(ctx.host)),
});
