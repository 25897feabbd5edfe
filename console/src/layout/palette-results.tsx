import { Text, VisuallyHidden } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { Link } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { mayDo } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';
import classes from './palette.module.css';
import { type Action, type ActionGroup, usePaletteActions } from './palette-actions.ts';
import { partsOf, wordsOf } from './palette-match.ts';

const TYPING_MS = 120;

/** Another object for each press. */
export type Pressed = { key: 'ArrowDown' | 'ArrowUp' | 'Enter' };

type Props = {
  id: string;
  /** What is in the field. */
  query: string;
  /** The last key since then. */
  pressed: Pressed | undefined;
  onType: (text: string) => void;
  /** The id of the element that is marked. */
  onActive: (id: string | undefined) => void;
  onClose: () => void;
};

/** What is found. Enter before it has arrived opens the first result when it does. */
export const PaletteResults = ({ id, query, pressed, onType, onActive, onClose }: Props) => {
  const [search] = useDebouncedValue(query.trim(), TYPING_MS);
  const { groups, isSearching } = usePaletteActions(search);
  const [chosen, choose] = useState({ query, id: '' });
  const isCurrent = search === query.trim() && !isSearching;
  const actions = groups.flatMap((group) => group.actions);
  const first = isCurrent && search !== '' ? actions[0] : undefined;
  const active = (chosen.query === query && actions.find((action) => action.id === chosen.id)) || first;
  const activeId = active && optionId(active);
  const run = (action: Action): void => {
    if (action.query !== undefined) {
      onType(action.query);
      return;
    }
    onClose();
    action.onClick();
  };
  const answer = ({ key }: Pressed): void => {
    if (key === 'Enter') {
      if (active) run(active);
      return;
    }
    const step = key === 'ArrowDown' ? 1 : -1;
    const index = active ? actions.indexOf(active) : step > 0 ? -1 : 0;
    const next = actions.at((index + step) % actions.length);
    if (next) choose({ query, id: next.id });
  };
  const isAnswered = pressed?.key !== 'Enter' || isCurrent;
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each key, `answer` is another function after each rendering
  useEffect(() => {
    if (pressed && isAnswered) answer(pressed);
  }, [pressed, isAnswered]);
  useEffect(() => onActive(activeId), [activeId, onActive]);
  return (
    <>
      <Results
        id={id}
        groups={groups}
        words={search === '' ? [] : wordsOf(search)}
        active={active}
        onChoose={(one) => choose({ query, id: one })}
        onRun={run}
      />
      <div role="status">
        {isCurrent && search !== '' && actions.length > 0 && (
          <VisuallyHidden>{actions.length === 1 ? '1 result' : `${actions.length} results`}</VisuallyHidden>
        )}
        {groups.length === 0 && (
          <div className={classes.empty}>
            {isCurrent ? <NothingFound search={search} onClose={onClose} /> : <Text>Searching…</Text>}
          </div>
        )}
      </div>
    </>
  );
};

const optionId = ({ id }: Action): string => `palette ${id}`.replaceAll(' ', '-');

type ListProps = {
  id: string;
  groups: readonly ActionGroup[];
  /** To highlight. */
  words: readonly string[];
  active: Action | undefined;
  onChoose: (id: string) => void;
  onRun: (action: Action) => void;
};

const Results = ({ id, groups, words, active, onChoose, onRun }: ListProps) => {
  const activeId = active && optionId(active);
  useEffect(() => {
    if (activeId !== undefined) document.getElementById(activeId)?.scrollIntoView({ block: 'nearest' });
  }, [activeId]);
  return (
    <div role="listbox" id={id} aria-label="Results" className={classes.results}>
      {groups.map(({ group, actions }) => (
        // biome-ignore lint/a11y/useSemanticElements: a list box has groups, and no fields
        <div key={group} role="group" aria-label={group} className={classes.group}>
          <div aria-hidden className={classes.heading}>
            {group}
          </div>
          {actions.map((action) => (
            <button
              key={action.id}
              id={optionId(action)}
              type="button"
              role="option"
              tabIndex={-1}
              aria-selected={action === active}
              className={classes.option}
              // Ignores events caused by the list scrolling below a resting pointer.
              onPointerMove={({ movementX, movementY }) => {
                if (movementX !== 0 || movementY !== 0) onChoose(action.id);
              }}
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => onRun(action)}
            >
              <action.icon className={classes.icon} size={16} stroke={1.6} aria-hidden />
              <span className={classes.label}>
                <Highlighted text={action.label} words={words} />
              </span>
              {action.description !== undefined && (
                <span className={classes.description}>{action.description}</span>
              )}
            </button>
          ))}
        </div>
      ))}
    </div>
  );
};

const Highlighted = ({ text, words }: { text: string; words: readonly string[] }) =>
  partsOf(text, words).map(({ text: part, isMatch }, index) =>
    isMatch ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts are replaced together
      <mark key={index} className={classes.match}>
        {part}
      </mark>
    ) : (
      part
    ),
  );

/** What else the user can do, if they may. */
const NothingFound = ({ search, onClose }: { search: string; onClose: () => void }) => {
  const { roles } = useSession();
  return (
    <>
      <Text>Nothing matches “{search}”. Try another name or email address.</Text>
      {mayDo(roles, 'manage-people') && (
        <Link className="text-link" to="/invite" onClick={onClose}>
          Invite people
        </Link>
      )}
    </>
  );
};
