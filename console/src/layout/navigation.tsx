import { Badge, Box, NavLink, Stack, Text } from '@mantine/core';
import {
  type Icon,
  IconApps,
  IconBuilding,
  IconChartLine,
  IconHistory,
  IconHome,
  IconKey,
  IconLayoutGrid,
  IconMail,
  IconRobot,
  IconSend,
  IconUserCircle,
  IconUserPlus,
  IconUsers,
  IconUsersGroup,
  IconWebhook,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { memo } from 'react';
import { trpc } from '../api.ts';
import { useClientChoice } from '../session/client-choice.ts';
import { canView, soleClientOf } from '../session/roles.ts';
import { screensFor } from '../session/screens.ts';
import { useSession } from '../session/use-session.ts';
import { PinnedViews } from '../views/pinned-views.tsx';
import { PATHS, usePinnedViews } from '../views/views.ts';

type Entry = ReturnType<typeof screensFor>[number];

export const ICONS: Record<Entry['to'], Icon> = {
  '/': IconHome,
  '/people': IconUsers,
  '/groups': IconUsersGroup,
  '/invite': IconUserPlus,
  '/invitations': IconSend,
  '/access': IconLayoutGrid,
  '/apps': IconApps,
  '/usage': IconChartLine,
  '/audit': IconHistory,
  '/clients': IconBuilding,
  '/mails': IconMail,
  '/webhooks': IconWebhook,
  '/service-accounts': IconRobot,
  '/keys': IconKey,
  '/account': IconUserCircle,
};

type Props = { onNavigate: () => void };

/** The screens by section. */
export const Navigation = ({ onNavigate }: Props) => {
  const { roles } = useSession();
  const { remembered, isKnown } = useClientChoice();
  const failedMails = useFailedMails(remembered, isKnown);
  const only = soleClientOf(roles);
  const pinned = Map.groupBy(usePinnedViews(canView(roles)), ({ list }): string => PATHS[list]);
  const sections = Map.groupBy(screensFor(roles), ({ section }) => section);
  return [...sections].map(([section, screens]) => (
    <Box key={section} mb="sm">
      {section !== '' && (
        <Text aria-hidden id={`section-${section}`} size="xs" fw={600} c="dimmed" px={10} pb={2}>
          {section}
        </Text>
      )}
      <Stack
        component="ul"
        className="plain-list"
        gap={1}
        aria-labelledby={section === '' ? undefined : `section-${section}`}
      >
        {screens.map(({ to, label, ...screen }) => (
          <li key={to}>
            <NavigationLink
              to={to}
              label={label}
              settingsOf={to === '/clients' ? only : undefined}
              client={'clients' in screen ? remembered : undefined}
              count={to === '/mails' ? failedMails : 0}
              onClick={onNavigate}
            />
            {pinned.has(to) && (
              <PinnedViews
                label={label}
                views={pinned.get(to) ?? []}
                client={remembered}
                onClick={onNavigate}
              />
            )}
          </li>
        ))}
      </Stack>
    </Box>
  ));
};

type LinkProps = Pick<Entry, 'to' | 'label'> & {
  client: number | undefined;
  /** Who sees one client gets its settings instead of a list. */
  settingsOf: number | undefined;
  count: number;
  onClick: () => void;
};

/** Memoized: it has many parts, and is the same on every screen. */
const NavigationLink = memo(({ to, label, client, settingsOf, count, onClick }: LinkProps) => {
  const Glyph = ICONS[to];
  return (
    <NavLink
      className="nav-link"
      renderRoot={(props) =>
        settingsOf === undefined ? (
          <Link
            {...props}
            to={to}
            search={client === undefined ? {} : { client }}
            activeOptions={{ exact: to === '/', includeSearch: false }}
            onClick={onClick}
          />
        ) : (
          <Link
            {...props}
            to="/clients/$id"
            params={{ id: String(settingsOf) }}
            activeOptions={{ includeSearch: false }}
            onClick={onClick}
          />
        )
      }
      label={label}
      leftSection={<Glyph size={18} stroke={1.6} aria-hidden />}
      rightSection={
        count > 0 && (
          <Badge color="red" variant="light" size="sm" aria-label={`${count} failed`}>
            {count}
          </Badge>
        )
      }
    />
  );
});

/** Counting takes longer than most requests, and the number may be a little old. */
const COUNT_MS = 5 * 60_000;

/** The number of failed mails of the chosen client, or of all, as on Home. */
const useFailedMails = (client: number | undefined, isKnown: boolean): number => {
  const { roles } = useSession();
  const attention = useQuery(
    trpc.attention.get.queryOptions({ client }, { enabled: canView(roles) && isKnown, staleTime: COUNT_MS }),
  );
  return attention.data?.failed_mails.count ?? 0;
};
