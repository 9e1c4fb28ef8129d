-- answered
SELECT CASE WHEN age < 30 THEN 'young' WHEN age < 60 THEN 'middle' ELSE 'old' END AS band, COUNT(*) FROM visits GROUP BY band

-- answered
SELECT CASE WHEN age < 30 THEN 'young' ELSE 'old' END AS band, COUNT(*) FROM visits GROUP BY CASE WHEN age < 30 THEN 'young' ELSE 'old' END

-- answered
SELECT CASE WHEN age < 30 THEN 'young' ELSE 'old' END, COUNT(*) FROM visits GROUP BY 1

-- answered
SELECT CASE sex WHEN 'male' THEN 'm' ELSE 'f' END AS s, COUNT(*) FROM visits GROUP BY s ORDER BY s

-- answered
SELECT FLOOR(age/10)*10 AS decade, COUNT(*) FROM visits GROUP BY decade ORDER BY decade

-- answered
SELECT FLOOR(age / 10), COUNT(*) FROM visits GROUP BY FLOOR(age / 10)

-- refused: FLOOR
SELECT age, COUNT(*) FROM visits GROUP BY age

-- refused: wider ranges
SELECT FLOOR(cost * 10), COUNT(*) FROM visits GROUP BY 1

-- answered
SELECT DATE_TRUNC('month', visited) AS month, COUNT(*) FROM visits GROUP BY month ORDER BY month

-- answered
SELECT DATE_TRUNC('year', visited) AS y, COUNT(*) FROM visits GROUP BY y

-- answered
SELECT DATE_TRUNC('week', visited) AS w, AVG(cost) FROM visits GROUP BY w

-- answered
SELECT DATE_TRUNC('day', visited) AS d, COUNT(*) FROM visits GROUP BY d

-- answered
SELECT DATE_TRUNC('quarter', visited) AS q, sex, COUNT(*) FROM visits GROUP BY q, sex

-- answered
SELECT visited, COUNT(*) FROM visits GROUP BY visited

-- answered
SELECT EXTRACT(YEAR FROM visited), COUNT(*) FROM visits GROUP BY 1

-- answered
SELECT EXTRACT(MONTH FROM visited) AS m, COUNT(*) FROM visits GROUP BY m HAVING m > 6

-- answered
SELECT EXTRACT(ISODOW FROM visited) AS weekday, COUNT(*) FROM visits GROUP BY weekday

-- answered
SELECT EXTRACT(DOW FROM visited) AS d, EXTRACT(QUARTER FROM visited) AS q, COUNT(*) FROM visits GROUP BY 1, 2

-- refused: no time of day
SELECT EXTRACT(HOUR FROM visited), COUNT(*) FROM visits GROUP BY 1

-- answered
SELECT MONTH(visited) AS m, COUNT(*) FROM visits WHERE YEAR(visited) = 2025 GROUP BY m

-- answered
SELECT COUNT(*) FROM visits WHERE visited BETWEEN '2025-03-01' AND '2025-03-31'

-- answered
SELECT COUNT(*) FROM visits WHERE visited >= DATE '2025-06-01'

-- refused: invalid date
SELECT COUNT(*) FROM visits WHERE visited >= '2025-06-31'

-- answered
SELECT AVG(visited - DATE '2025-01-01') FROM visits

-- answered
SELECT v.sex AS s, COUNT(*) FROM visits v GROUP BY v.sex

-- answered
SELECT v.sex AS s, COUNT(*) AS n FROM visits AS v GROUP BY s ORDER BY n

-- answered
SELECT building, COUNT(*) FROM visits JOIN wards USING (ward) GROUP BY building

-- answered
SELECT ward, building, COUNT(*) FROM visits LEFT JOIN wards USING (ward) GROUP BY ward, building

-- answered
SELECT w.building, COUNT(*) FROM wards w JOIN visits v ON v.ward = w.ward GROUP BY w.building

-- answered
SELECT w.building, COUNT(*) FROM wards w RIGHT JOIN visits v ON v.ward = w.ward GROUP BY w.building

-- answered
SELECT p.sex, COUNT(*) FROM patients p RIGHT JOIN visits v ON v.patient = p.patient GROUP BY p.sex

-- refused: LEFT JOIN
SELECT p.sex, COUNT(*) FROM patients p FULL JOIN visits v ON v.patient = p.patient GROUP BY p.sex

-- answered
SELECT COUNT(*) FROM visits WHERE ward LIKE 'sur%'

-- answered
SELECT COUNT(*) FROM visits WHERE LOWER(ward) = 'surgery' OR TRIM(ward) = 'x' OR UPPER(ward) = 'ICU'

-- answered
SELECT LOWER(ward) AS w, COUNT(*) FROM visits GROUP BY LOWER(ward)

-- answered
SELECT COUNT(*) FROM visits WHERE ward NOT LIKE '%gery' AND ward ILIKE 'ICU_'

-- answered
SELECT COUNT(*) FILTER (WHERE cost > 100) FROM visits

-- answered
SELECT sex, SUM(cost) FILTER (WHERE age > 60), AVG(cost) FILTER (WHERE smoker = 'yes') AS a FROM visits GROUP BY sex

-- answered
SELECT COUNT(CASE WHEN smoker = 'yes' THEN 1 END) FROM visits

-- answered
SELECT SUM(LEAST(cost, 500)), AVG(GREATEST(cost, 10)) FROM visits

-- answered
SELECT COUNT(*) FROM visits WHERE sex != 'male' AND smoker <> 'no'

-- answered
SELECT sex, ward, COUNT(DISTINCT patient) FROM visits GROUP BY sex, ward

-- answered
SELECT AVG(cost / 100) FROM visits

-- refused: division
SELECT AVG(cost / age) FROM visits

-- answered
SELECT AVG(CAST(age AS DOUBLE)) FROM visits

-- answered
SELECT AVG(CAST(age / 10 AS INTEGER)) FROM visits

-- answered
SELECT CAST(age / 10 AS INT) * 10 AS decade, COUNT(*) FROM visits GROUP BY decade

-- refused: a type other than DOUBLE and INTEGER
SELECT COUNT(*) FROM visits WHERE CAST(age AS VARCHAR) = '3'

-- answered
SELECT COUNT(*) FROM visits WHERE patient IN (SELECT patient FROM patients WHERE age > 65)

-- answered
SELECT sex, AVG(cost) FROM visits WHERE patient NOT IN (SELECT patient FROM patients WHERE income < 20000) AND cost > 10 GROUP BY sex

-- answered
SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM patients p WHERE p.patient = v.patient)

-- answered
SELECT sex, AVG(cost) FROM visits v WHERE cost > 5 AND NOT EXISTS (SELECT * FROM patients p WHERE v.patient = p.patient AND p.age > 65) GROUP BY sex

-- answered
SELECT COUNT(*) FROM visits WHERE EXISTS (SELECT 1 FROM patients p WHERE p.patient = visits.patient AND income < 20000)

-- refused: does not compare the privacy IDs
SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM patients p WHERE p.age = v.age)

-- refused: does not compare the privacy IDs
SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM patients p)

-- refused: does not compare the privacy IDs
SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT COUNT(*) FROM patients p WHERE p.patient = v.patient)

-- refused: table v is not in FROM
SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM patients p WHERE p.patient = v.patient AND p.age > v.age)

-- refused: alone or with AND
SELECT COUNT(*) FROM visits v WHERE cost > 5 OR EXISTS (SELECT 1 FROM patients p WHERE p.patient = v.patient)

-- answered
SELECT COUNT(DISTINCT patient) FROM visits WHERE patient IN (SELECT patient FROM visits GROUP BY patient HAVING COUNT(*) >= 3)

-- refused: supports only COUNT(*)
SELECT COUNT(*) FROM visits WHERE patient IN (SELECT patient FROM visits GROUP BY patient HAVING SUM(cost) > 3)

-- refused: does not compare privacy IDs
SELECT COUNT(*) FROM visits WHERE age IN (SELECT age FROM patients)

-- answered
SELECT AVG(total) FROM (SELECT patient, SUM(cost) AS total FROM visits GROUP BY patient) t

-- answered
WITH per AS (SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient) SELECT n, COUNT(*) FROM per GROUP BY n ORDER BY n

-- answered
WITH per AS (SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient) SELECT AVG(n) FROM per

-- answered
WITH per AS (SELECT patient, MAX(cost) AS highest, AVG(cost) AS usual FROM visits WHERE age > 18 GROUP BY patient) SELECT AVG(highest - usual) FROM per WHERE highest > 5

-- answered
SELECT p.sex, AVG(t.total) FROM patients p LEFT JOIN (SELECT patient, SUM(cost) AS total FROM visits GROUP BY patient) t ON p.patient = t.patient GROUP BY p.sex

-- refused: no bound per person
SELECT AVG(total) FROM (SELECT ward, SUM(cost) AS total FROM visits GROUP BY ward) t

-- answered
WITH v AS (SELECT * FROM visits WHERE cost > 100) SELECT sex, COUNT(*) FROM v GROUP BY sex

-- answered
SELECT sex, COUNT(*) FROM (SELECT patient, sex, age FROM visits x WHERE x.cost > 100) AS v WHERE v.age > 50 GROUP BY sex

-- refused: column age is not selected by the subquery
SELECT sex, COUNT(*) FROM (SELECT patient, sex FROM visits x WHERE x.cost > 100) AS v WHERE v.age > 50 GROUP BY sex

-- refused: column nonsense is not declared
SELECT COUNT(*) FROM (SELECT nonsense FROM visits) AS v

-- refused: column patient is not selected by the subquery
SELECT COUNT(DISTINCT patient) FROM (SELECT sex FROM visits) AS v

-- refused: column patient is not selected by the subquery
SELECT COUNT(*) FROM patients p JOIN (SELECT sex FROM visits) v ON p.patient = v.patient

-- answered
SELECT COUNT(*) FROM patients p LEFT JOIN (SELECT patient FROM visits WHERE cost > 100) v ON p.patient = v.patient

-- answered
SELECT DISTINCT ward FROM visits

-- refused: no aggregate
SELECT DISTINCT sex FROM visits
