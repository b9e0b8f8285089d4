mayhap report mayhap.json --quiet > new.txt || true
{ echo '```'; head -c 60000 new.txt; echo '```'; } > new.md
