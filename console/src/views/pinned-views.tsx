import { NavLink } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { PATHS, useSearchOf, type View } from './views.ts';

type Props = { label: string; views: readonly View[]; client: number | undefined; onClick: () => void };

/** The pinned views of a list, below it in the navigation. */
export const PinnedViews = ({ label, views, client, onClick }: Props) => {
  const searchOf = useSearchOf();
  return (
    <ul className="plain-list" aria-label={`Views of ${label}`}>
      {views.map((view) => (
        <li key={view.id}>
          <NavLink
            className="nav-link"
            pl={40}
            noWrap
            title={view.name}
            label={view.name}
            renderRoot={(props) => (
              <Link
                {...props}
                to={PATHS[view.list]}
                search={searchOf(view, client)}
                activeOptions={{ exact: true, includeSearch: true }}
                onClick={onClick}
              />
            )}
          />
        </li>
      ))}
    </ul>
  );
};
