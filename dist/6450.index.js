import{modules as o}from"./58728.shared.js";import{modules as s}from"./11035.shared.js";const t=6450,d=[6450,1035,3416,2625,5006],m={...o,...s};export{t as id,d as ids,m as modules};
