// SPDX-License-Identifier: GPL-2.0-only
// Owners of IOs (--by cgroup or process): their short names, as paths are too long, and each one's share of a device and stage.
import type { Latency, Part, PartWatch, Shares } from "./data";
import type { Line } from "./lines";

/** Whether parts belong to owners, which come and go and have no natural order. */
export function haveOwners({ by }: Part): boolean {
    return by === "cgroup" || by === "process";
}

/** The length of a shortened name: what distinguishes it may be at either end. */
const NAME_LENGTH = 28;

function cut(name: string): string {
    const all = Array.from(name), half = NAME_LENGTH / 2;
    return all.length > NAME_LENGTH ? `${all.slice(0, half).join("")}…${all.slice(1 - half).join("")}` : name;
}

/** Candidates: what the path tells, or its last name; then the same with a name above it, the nearest first. */
function candidates({ label, container, pod, namespace, unit }: Part): string[] {
    if (namespace)
        return [cut(pod!), `${cut(pod!)}/${container}`];
    const names = label.split("/").slice(1), last = names.pop() ?? "", id = [pod?.slice(0, 8), container?.slice(0, 12)].filter(Boolean).join("/");
    const below = names.map((name, i) => `${cut(name)}/${i + 1 < names.length ? "…/" : ""}${cut(last)}`).reverse();
    return [id || cut(unit ?? ""), cut(last), ...below].filter(Boolean);
}

/** The shortest unique name for each. If nothing shorter is unique, the label is used, which always is. */
export function shortNames(parts: Part[]): Map<string, string> {
    const all = [...new Map(parts.map((part) => [part.label, part.by === "cgroup" ? candidates(part) : []])).entries()];
    const often = new Map<string, number>();
    for (const name of all.flatMap(([, names]) => [...new Set(names)]))
        often.set(name, (often.get(name) ?? 0) + 1);
    return new Map(all.map(([label, names]) => [label, names.find((name) => often.get(name) === 1) ?? label]));
}

/** A path without its middle, and with container ids cut to the digits that tools show. */
export function shortPath(label: string): string {
    const path = label.replace(/([0-9a-f]{12})[0-9a-f]{52}/g, "$1"), names = path.split("/");
    return path.length > 48 && names.length > 3 ? `/${names[1]}/…/${names[names.length - 1]}` : path;
}

/** What owners are looked at for: all ops of a device and stage, or one op. @whole: the same in the whole run, if this is of a window. */
export interface Ownership { key: string; name: string; line: Line; op: string | null; whole?: Ownership }

/** The choices: each watch as a whole, if it has several ops, and each op. */
export function ownerships(lines: Line[]): Ownership[] {
    return lines.flatMap((line, i) => {
        const first = lines.findIndex(({ watch }) => watch === line.watch) === i, { source, name, key, watch } = line;
        return [
            ...first && watch.ops.length > 1 ? [{ key: `${key}/all`, name: `${source}, all ops`, line, op: null }] : [],
            { key, name, line, op: line.op.op },
        ];
    });
}

export interface Owner {
    part: Part; name: string;
    ios: number; bytes: number; errors: number; time_s: number; latency: Latency | null;
    shares: Shares; few: boolean;
    /**
     * Its rank by time among all owners of the device and stage, which determines its colour, whatever
     * the table is sorted by.
     */
    rank: number;
    watch: PartWatch;
}

/** The owners with IOs; the one whose IOs took the most time comes first. */
export function ownersOf({ line: { watch }, op }: Ownership): Owner[] {
    const parts = (watch.parts ?? []).filter(({ all_ops }) => all_ops), names = shortNames(parts.map(({ part }) => part));
    const timeOf = ({ all_ops: all }: PartWatch) => all!.rank_s ?? all!.time_s, ranks = [...parts].sort((a, b) => timeOf(b) - timeOf(a));
    return ranks.flatMap((of, rank): Owner[] => {
        const one = { part: of.part, name: names.get(of.part.label)!, rank, watch: of }, own = of.ops.find((o) => o.op === op);
        if (op === null) {
            const { latency_ns, of_whole, ...figures } = of.all_ops!;
            return [{ ...one, ...figures, latency: latency_ns, shares: of_whole }];
        }
        return own?.total.ios ? [{ ...one, ...own.total, time_s: own.total.time_s ?? 0, latency: own.total.latency_ns, shares: own.of_whole, few: own.few ?? false }] : [];
    }).sort((a, b) => b.time_s - a.time_s);
}
