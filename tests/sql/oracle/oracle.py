#!/usr/bin/env python3
"""Random queries over random histories, held against DuckDB."""
import argparse, sys, json, os
from collections import Counter
from pathlib import Path
sys.path.insert(0, str(Path(__file__).parent))
import duckdb
import cases, duck, generate
ap=argparse.ArgumentParser(); ap.add_argument("--cases",type=int,default=100); ap.add_argument("--seed",type=int,default=1); ap.add_argument("--show",action="store_true")
a=ap.parse_args()
judge=duck.Judge(); tests=[]; kept={}; err=Counter()
for n in range(a.cases):
    g=generate.Generator(f"{a.seed}-{n}")
    c=g.case(f"{a.seed}-{n}")
    try: ans=judge.answers(c)
    except duckdb.Error as e:
        err[str(e).splitlines()[0][:150]]+=1; print("DUCK", c.id, str(e)[:400]); continue
    if max(map(len,ans))>300: err["big"]+=1; continue
    t=cases.as_test(c,ans); tests.append(t); kept[c.id]=(c,t)
print(len(tests), err)
s=cases.Subject(os.environ["SF_BUILD"]+"/sf",60)
r=s.run(tests)
bad=Counter()
for i,v in r.items():
    if v:
        bad[v[0]]+=1; print(i,v[0],v[1][:600]); print("    ",kept[i][1]["sql"])
print(bad, len(r))
